"""The terminal: keys and signals."""
