"""The verb `logs`."""
