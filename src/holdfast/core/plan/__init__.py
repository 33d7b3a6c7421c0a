"""Estimates of memory, time and cost."""
