"""The terminal: keys, signals, the log."""
