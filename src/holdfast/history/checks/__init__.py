"""The checks of a class, reduced to what decides whether it raises: a text that `core.constructor_checks` runs."""
