"""Settings that hold for every test."""

from hypothesis import settings

# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")
