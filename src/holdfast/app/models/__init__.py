"""The models that the verbs `evaluate` and `export` are given."""
