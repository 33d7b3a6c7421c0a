"""Logs, and the causes of failures."""
