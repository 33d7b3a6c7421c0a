"""A rehearsal: its stages, its faults, and what it measured."""
