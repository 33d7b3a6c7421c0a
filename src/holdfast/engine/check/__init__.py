"""Checking: running the rules, combining their fixes, and reading the comments that suppress findings."""
