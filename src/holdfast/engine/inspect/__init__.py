"""Inspecting: what a dataset is, and what a reward function gives for its rows."""
