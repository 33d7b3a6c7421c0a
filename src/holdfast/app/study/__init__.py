"""The verb `study`: many runs as one."""
