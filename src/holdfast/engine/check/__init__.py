"""Checking: the rules are asked, their fixes combined, and the comments that suppress findings read."""
