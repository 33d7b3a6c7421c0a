"""Stacks of processes that write none themselves, read from outside."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from holdfast.adapters.environment.outside_stacks import outside_stack
from holdfast.core.run.event import Liveness
from holdfast.engine.diagnose.ranks import find_standstill
from tests.adapters.backends.harnesses import Followed, LocalHarness, make_attempt

PY_SPY = Path(sys.executable).with_name("py-spy")
HANGS = """
    import signal
    import threading
    from holdfast_runtime import attempt

    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # as a script that has a use of its own for it

    def score():
        threading.Event().wait()

    attempt.write("start")
    score()
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a moment only for a stack that does not come."""
    monkeypatch.setattr("holdfast.adapters.environment.guarded.LOOKS", 5)


def hanging(folder: Path) -> Followed:
    """Return an attempt that hangs, and takes SIGUSR1 for itself."""
    followed = Followed.submit(LocalHarness(folder, {}), make_attempt(folder, HANGS))
    followed.until(lambda _: followed.events)
    return followed


@pytest.mark.skipif(not PY_SPY.exists(), reason="py-spy is not installed")
def test_a_script_that_takes_the_signal_for_itself_shows_its_stack_all_the_same(tmp_path: Path) -> None:
    followed = hanging(tmp_path)
    followed.backend.request_stacks(followed.id)
    stacks = Path(followed.id, "stacks.txt").read_text()
    assert followed.look().answer is Liveness.ALIVE
    followed.backend.kill(followed.id)
    followed.to_its_end()

    found = find_standstill({0: stacks}, collectives=None)
    assert found is not None
    assert found.text.startswith("it is in `wait` (threading.py:")
    assert "called from `score` (train.py:9)" in found.text


@pytest.mark.parametrize("has_py_spy", [True, False])
def test_why_there_is_no_stack_is_said(monkeypatch: pytest.MonkeyPatch, *, has_py_spy: bool) -> None:
    """Of a process that is not there; and without py-spy, with the command that installs it."""
    if has_py_spy and not PY_SPY.exists():
        pytest.skip("py-spy is not installed")
    if not has_py_spy:
        monkeypatch.setattr(shutil, "which", lambda _: None)
    gone = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitpid(gone, 0)

    found = find_standstill({0: outside_stack(gone)}, collectives=None)
    assert found is not None
    expected = (
        "no stack: py-spy: Error: "
        if has_py_spy
        else "no stack: the process does not write its own, and py-spy is not installed: pip install"
    )
    assert found.text.startswith(expected)


def test_a_suspended_process_blocks_nobody(tmp_path: Path) -> None:
    """It answers no signal; the supervisor goes on, and the file says why there is no stack, or has the one that py-spy read."""
    followed = hanging(tmp_path)
    process = int(Path(followed.id, "pids", "rank-0").read_text())
    os.kill(process, signal.SIGSTOP)
    followed.backend.request_stacks(followed.id)
    stacks = Path(followed.id, "stacks.txt").read_text()
    os.kill(process, signal.SIGKILL)
    followed.to_its_end()

    assert "holdfast: no stack" in stacks or "in score" in stacks
