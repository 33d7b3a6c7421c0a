"""What is printed to a place that takes nothing: the command says so, and ends with the exit code of a wrong question."""

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
