"""The files of the history: ranges of releases, values through them, one thing a line."""
