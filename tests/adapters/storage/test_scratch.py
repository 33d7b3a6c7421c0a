"""What a killed process leaves behind is removed by the next; what is in use stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import UsageError

HOLDING = """\
import sys, time
from pathlib import Path
from holdfast.adapters.storage.scratch import scratch_folder
with scratch_folder(".run-", Path(sys.argv[1])) as folder:
    Path(folder, "large").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def hold(parent: Path) -> "tuple[subprocess.Popen[str], Path]":
    """Start a process that holds a folder."""
    words = [sys.executable, "-c", HOLDING, str(parent)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_of_a_killed_process_is_removed_and_others_stay(tmp_path: Path) -> None:
    """Also one without a lock, which may be another program's, and a link to a folder elsewhere."""
    (killed, left), (lives, used) = hold(tmp_path), hold(tmp_path)
    (foreign := tmp_path / ".run-foreign").mkdir()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / ".scratch.lock").touch()
    (tmp_path / ".run-link").symlink_to(elsewhere)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()

    with scratch_folder(".run-", tmp_path) as own:
        assert Path(own).is_dir()
        assert not left.exists()
        assert (used / "large").is_file()

    assert foreign.is_dir()
    assert (elsewhere / ".scratch.lock").is_file()
    lives.communicate()
    assert not used.exists()
    assert not Path(own).exists()


@pytest.mark.parametrize("name", ["missing", "a file"])
def test_no_place_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With the variable that says where they go."""
    (tmp_path / "a file").touch()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / name))

    with pytest.raises(UsageError, match="no temporary folder can be made") as raised, scratch_folder("x-"):
        pass
    assert "TMPDIR" in raised.value.fix
