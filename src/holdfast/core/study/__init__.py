"""Studies and their trials."""
