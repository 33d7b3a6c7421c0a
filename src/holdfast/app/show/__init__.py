"""The verb `show`."""
