"""The program of an export, in a process of its own: it has the model in memory, merges, converts, and measures what came of it."""
