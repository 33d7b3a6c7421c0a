"""Decisions: functions over values, and loops that take what they need of the world as arguments."""
