"""What is special to attempts on this machine; `test_conformance.py` has what holds everywhere."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.adapters.backends.local import LocalBackend
from holdfast.adapters.environment.guarded import GUARD
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.adapters.storage.locks import is_held
from holdfast.core.errors import BackendError
from holdfast.core.run.event import Liveness
from tests.adapters.backends.harnesses import Followed, LocalHarness, make_attempt

LONG = """
    import time
    from holdfast_runtime import attempt
    attempt.write("start")
    time.sleep(600)
"""


@pytest.fixture
def harness(tmp_path: Path) -> LocalHarness:
    return LocalHarness(tmp_path, {})


def test_both_streams_are_kept_whole(harness: LocalHarness, tmp_path: Path) -> None:
    """Every byte of both streams is on disk, progress bars and all."""
    source = "import sys; sys.stdout.write('a\\rb\\n'); sys.stderr.buffer.write(b'\\xff\\r 5%')"
    followed = Followed.submit(harness, make_attempt(tmp_path, source))
    followed.to_its_end()

    assert Path(followed.id, "stdout.log").read_bytes() == b"a\rb\n"
    assert Path(followed.id, "stderr.log").read_bytes() == b"\xff\r 5%"


def test_a_dead_attempt_whose_guard_was_killed_is_known(harness: LocalHarness, tmp_path: Path) -> None:
    """Guard and process killed: it ended, and nobody knows how."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    os.kill(json.loads(Path(followed.id, "guard.json").read_text())["pid"], signal.SIGKILL)
    assert followed.look().answer is Liveness.ALIVE  # the training goes on without it
    followed.backend.stop(followed.id)

    ended = followed.to_its_end()
    assert ended.exit_code is None
    assert ended.ended_s == max(path.stat().st_mtime for path in Path(followed.id).glob("*.*") if path.suffix != ".py")


def test_an_attempt_lives_as_long_as_a_training_process(harness: LocalHarness, tmp_path: Path) -> None:
    """A launcher that was killed has an exit code, and leaves its ranks behind: an attempt that began now would be the second."""
    launcher = """
        import os, signal, subprocess, sys
        attempt = os.environ["HOLDFAST_ATTEMPT"]
        rank = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(f"{attempt}/pids/rank-1", "w") as file:
            file.write(str(rank.pid))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    followed = Followed.submit(harness, make_attempt(tmp_path, launcher))
    followed.until(lambda _: Path(followed.id, "exit.json").exists() and not is_held(Path(followed.id, "guard.json")))
    assert followed.look().answer is Liveness.ALIVE
    followed.backend.kill(followed.id)

    assert followed.to_its_end().exit_code == -signal.SIGKILL


def test_an_attempt_whose_folder_was_deleted_is_found(harness: LocalHarness, tmp_path: Path) -> None:
    """Its processes live: that is no end, and they can be stopped all the same."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    shutil.rmtree(followed.id)

    look = harness.open().poll(followed.id)
    assert look.answer is Liveness.UNKNOWN
    assert "its folder was deleted" in look.because
    LocalBackend((), os.environ, "").stop(followed.id)
    followed.to_its_end()
    assert find_marked("HOLDFAST_ATTEMPT", followed.id) == []


def test_a_stranger_is_not_signalled(harness: LocalHarness, tmp_path: Path) -> None:
    """A process id written long ago may be another's: it is left alone."""
    followed = Followed.submit(harness, make_attempt(tmp_path, "print('done')"))
    followed.to_its_end()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (Path(followed.id) / "pids" / "rank-0").write_text(str(stranger.pid))
    followed.backend.stop(followed.id)
    followed.backend.kill(followed.id)

    assert stranger.poll() is None
    stranger.communicate()


def test_the_variables_of_the_plan_win_over_those_of_the_shell(tmp_path: Path) -> None:
    """And the attempt is told what it is."""
    script = 'import os; from holdfast_runtime import attempt; attempt.write("start", env=dict(os.environ))'
    harness = LocalHarness(tmp_path, {"HF_TOKEN": "hf_x", "A": "shell"})
    attempt = replace(make_attempt(tmp_path, script, variables={"A": "job"}), resume_from="/c")
    followed = Followed.submit(harness, attempt)
    followed.to_its_end()
    env = followed.events[0]["env"]

    assert (env["HF_TOKEN"], env["A"], env["HOLDFAST_PROCESSES"], env["HOLDFAST_RESUME"]) == ("hf_x", "job", "1", "/c")
    assert "HOLDFAST_EVENTS" not in env


def test_two_guards_make_one_process(harness: LocalHarness, tmp_path: Path) -> None:
    """Two supervisors that start the same attempt in the same instant."""
    attempt = make_attempt(tmp_path, "print('started')")
    command = [sys.executable, str(GUARD), attempt.folder, sys.executable, f"{attempt.folder}/attempt.py"]
    guards = [subprocess.Popen(command, env={**os.environ, **attempt.variables()}) for _ in range(8)]

    assert [guard.wait() for guard in guards] == [0] * 8
    followed = Followed.submit(harness, attempt)
    followed.to_its_end()
    assert followed.log() == "started\n"


def test_a_script_that_a_remedy_changed_gets_an_environment_with_what_it_declares_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of the first attempt lacks the package that was added; if none can be made, that is how the attempt ends."""
    header = '# /// script\n# dependencies = ["{}"]\n# ///\nprint("done")\n'
    attempt = make_attempt(tmp_path, header.format("pytest"))
    backend = LocalBackend.open(attempt.plan, os.environ)
    changed = replace(attempt, plan=replace(attempt.plan, script=header.format("a-package-that-was-added")))
    monkeypatch.setattr("holdfast.adapters.environment.interpreters.find_uv", lambda: None)

    with pytest.raises(BackendError, match="this environment lacks a-package-that-was-added"):
        backend.submit(changed)
    followed = Followed.submit(LocalHarness(tmp_path, {}), attempt)
    assert followed.to_its_end().exit_code == 0
