"""The verb `runs`."""
