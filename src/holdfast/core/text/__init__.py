"""Texts, and what is written in them: places, edits, numbers, JSON, TOML, secrets."""
