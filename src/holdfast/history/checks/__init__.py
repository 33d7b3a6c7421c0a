"""The checks of a class, reduced to what decides whether it raises: a text that `core.program` runs."""
