"""Evaluations: the process that has the model, and the files that it and we leave."""
