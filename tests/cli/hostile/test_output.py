"""What is printed to a place that takes nothing: the command says so, and ends with the exit code of a wrong question."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [["--version"], ["check", "--help"], ["check", "train.py", "--offline"]])
def test_a_full_disk_for_the_output_is_one_error(words: list[str], tmp_path: Path) -> None:
    """No traceback, whichever part of the command prints, and not the exit code of findings."""
    (tmp_path / "train.py").write_text("from trl import SFTConfig\nSFTConfig(max_seq_length=512)\n")
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "holdfast", *words]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written: No space left on device")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["0<&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("words", ["check -", "stop none", pytest.param("resume none", marks=pytest.mark.long)])
def test_a_stream_that_is_closed_is_no_crash(words: str, closed: str, tmp_path: Path) -> None:
    """As under some schedulers; what would be said there is not said."""
    command = f"{sys.executable} -m holdfast {words} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.fixture
def run(tmp_path: Path) -> str:
    """Return a run whose training has written both streams."""
    attempt = tmp_path / "runs" / "a" / "attempts" / "1"
    attempt.mkdir(parents=True)
    events = [
        {"kind": "requested", "fields": {"at_s": 1.0, "folder": str(attempt.parents[1])}},
        {"kind": "starting", "fields": {"at_s": 2.0, "attempt": 1, "backend": "local"}},
    ]
    (tmp_path / "runs/a/ledger.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    (attempt / "stdout.log").write_text("trained\n")
    (attempt / "stderr.log").write_text("warned\n")
    return "a"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    ("streams", "code", "printed"),
    [("> /dev/full", 2, ""), ("2> /dev/full", 0, "trained\n"), ("> /dev/full 2>&1", 2, "")],
)
def test_logs_to_a_full_disk(run: str, tmp_path: Path, streams: str, code: int, printed: str) -> None:
    """What cannot be told is lost; what is told elsewhere is whole."""
    command = f"{sys.executable} -m holdfast logs {run} {streams}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (code, printed)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_an_error_that_cannot_be_told_keeps_its_exit_code(tmp_path: Path) -> None:
    command = f"{sys.executable} -m holdfast check none.py 2> /dev/full"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 2


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
import holdfast
assert not [name for name in sys.modules if name.startswith("holdfast.")]
from holdfast.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["holdfast.cli", "msgspec", "click"])
def test_ctrl_c_during_the_import_shows_no_traceback(name: str) -> None:
    """What is imported before that is next to nothing."""
    words = [sys.executable, "-c", INTERRUPTED.format(name=name)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (130, "")
