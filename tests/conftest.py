"""Settings that hold for every test."""

import os

import pytest
from hypothesis import settings

# No test reaches the network; those that ask a Hub on loopback say so.
os.environ["HF_HUB_OFFLINE"] = "1"
# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("holdfast", deadline=None)
# `make check` tries the same few examples each time, `make check-all` others in each run.
settings.register_profile("sample", deadline=None, max_examples=25, derandomize=True, database=None)
# Each mutant of `benchmarks/mutation.py` meets the same few examples.
settings.register_profile("mutation", deadline=None, max_examples=25, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "holdfast"))


@pytest.fixture(scope="session", autouse=True)
def make_folder_of_all(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the folder of temporary folders before threads of a fixture both find that there is none; the cache of hf_xet lies in it."""
    os.environ["HF_XET_CACHE"] = str(tmp_path_factory.getbasetemp() / "xet")
