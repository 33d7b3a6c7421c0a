"""Stacks of processes that write none themselves, read from outside."""

import os
import shutil
import signal
import sys
from pathlib import Path
from threading import Barrier

import psutil
import pytest

from holdfast.adapters.environment.guarded import GuardedProcess
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


@pytest.mark.parametrize("has_py_spy", [True, False])
def test_a_suspended_process_blocks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_py_spy: bool
) -> None:
    """It answers no signal; the supervisor goes on, and the file has the stack that py-spy read, or says why there is none."""
    if has_py_spy and not PY_SPY.exists():
        pytest.skip("py-spy is not installed")
    followed = hanging(tmp_path)
    process = int(Path(followed.id, "pids", "rank-0").read_text())
    os.kill(process, signal.SIGSTOP)
    if not has_py_spy:
        monkeypatch.setattr(shutil, "which", lambda _: None)
    followed.backend.request_stacks(followed.id)
    stacks = Path(followed.id, "stacks.txt").read_text()
    os.kill(process, signal.SIGKILL)
    followed.to_its_end()

    assert ("in score" if has_py_spy else "holdfast: no stack: the process does not write its own") in stacks


def test_silent_ranks_are_read_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor waits for the slowest of them, and not for each in turn."""
    ranks = {str(number): psutil.Process() for number in range(8)}
    together = Barrier(len(ranks), timeout=5)

    def read(_pid: int) -> str:
        together.wait()
        return "a stack\n"

    guarded = GuardedProcess(tmp_path, str(tmp_path))
    monkeypatch.setattr(GuardedProcess, "_ranks_by_number", lambda _: ranks)
    monkeypatch.setattr(GuardedProcess, "_signal", lambda *_: None)
    monkeypatch.setattr("holdfast.adapters.environment.guarded.outside_stack", read)
    guarded.request_stacks()

    assert {path.name for path in tmp_path.glob("stacks*.txt")} == {
        "stacks.txt",
        *(f"stacks-{number}.txt" for number in range(1, 8)),
    }
