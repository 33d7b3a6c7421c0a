"""This machine and its Pythons, and the registry that packages come from."""
