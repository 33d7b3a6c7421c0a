"""The verb `stop`."""
