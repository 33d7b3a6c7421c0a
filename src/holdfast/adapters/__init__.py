"""Doors to the real world: one file each, behind the shapes in `ports`."""
