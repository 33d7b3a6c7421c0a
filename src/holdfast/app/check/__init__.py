"""The verb `check`, and what it asks of targets."""
