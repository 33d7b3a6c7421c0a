"""The verb `run`, and what the other verbs about runs share with it."""
