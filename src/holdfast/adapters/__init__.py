"""Adapters: all input and output, behind the protocols in `ports`."""
