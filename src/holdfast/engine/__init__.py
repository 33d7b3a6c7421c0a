"""What the system does with values: decisions, and loops that take their doors as arguments."""
