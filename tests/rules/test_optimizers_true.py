"""The optimizers of PyTorch take the keywords that ARG122 says they take."""

import json
import subprocess
import sys

import pytest

from holdfast.rules.arg122_unknown_optimizer_argument import TAKES

pytestmark = pytest.mark.train

SIGNATURES = """
import inspect, json, sys
import torch
print(json.dumps({name: sorted(inspect.signature(getattr(torch.optim, name)).parameters) for name in json.loads(sys.argv[1])}))
"""


def test_the_table_is_that_of_the_installed_release() -> None:
    """Each optimizer, with each of its keywords."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURES, json.dumps(list(TAKES))], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {name: sorted(takes) for name, takes in TAKES.items()}
