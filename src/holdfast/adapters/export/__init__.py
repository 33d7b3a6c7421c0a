"""Exports: the process that has the model, the converter, what this machine has for it, and the folder that comes of it."""
