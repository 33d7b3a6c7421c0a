"""The verb `catalog`."""
