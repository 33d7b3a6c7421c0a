"""No attempt lives or starts twice, whenever its supervisor is killed: a part of `benchmarks.exactly_once`; `tests/app/run/test_killed_runs.py` has others."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_no_attempt_lives_twice() -> None:
    """On this machine, and on a service that loses calls and answers."""
    words = [sys.executable, "-m", "benchmarks.exactly_once", "20"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)

    assert done.returncode == 0, done.stderr
    assert "a service, killed: " in done.stdout
    assert "wrong" not in done.stdout
    assert "case " not in done.stdout
