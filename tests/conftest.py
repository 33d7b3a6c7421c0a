"""Settings that hold for every test."""

import os

from hypothesis import settings

# No test reaches the network; those that ask a Hub on loopback say so.
os.environ["HF_HUB_OFFLINE"] = "1"
# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")
