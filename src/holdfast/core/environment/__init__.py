"""Packages, their versions, and where a job states them."""
