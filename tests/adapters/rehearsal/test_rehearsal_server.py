"""The server of rehearsals: what it imports before it forks, when it leaves that to the script, and what Ctrl-C ends."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from holdfast.adapters.rehearsal.server import RehearsalServer, outer_pid
from holdfast.payload.rehearsal.part_request import PartRequest

LIBRARY = """
import ctypes


class Driver:
    def cuDeviceGetCount(self, count):
        return {answer}


ctypes.CDLL = lambda name: Driver()
"""
SCRIPT = """
import sys
print("imported" if "library" in sys.modules else "left to the script")
"""


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        pytest.param(3, "imported", id="not initialized"),
        pytest.param(0, "left to the script", id="initialized by an import"),
    ],
)
def test_what_initializes_cuda_is_not_imported_before_the_fork(tmp_path: Path, answer: int, printed: str) -> None:
    """A forked process cannot use a GPU that its parent has used: "Cannot re-initialize CUDA in forked subprocess"."""
    (tmp_path / "library.py").write_text(LIBRARY.format(answer=answer))
    (folder := tmp_path / "whole").mkdir()
    part_request = PartRequest(script="script.py", source=SCRIPT, argv=(), folder=str(folder), gpu="here", offline=True)
    variables = {"PYTHONPATH": str(tmp_path)}
    with RehearsalServer(
        [sys.executable], header="", wanted=["library"], folder=tmp_path, variables=variables
    ) as server:
        server.wait_ready(60)
        server.play([part_request], limit_s=60, limit_bytes=1 << 32)
    assert (folder / "stdout.log").read_text().splitlines() == [printed]


@pytest.mark.long
@pytest.mark.train
def test_a_server_that_imports_nothing_plays_a_script_as_well(tmp_path: Path) -> None:
    """The rehearsal's own modules find the libraries while they are imported, not afterwards."""
    (folder := tmp_path / "whole").mkdir()
    source = 'from transformers import TrainingArguments\nprint(TrainingArguments("out", use_cpu=True).output_dir)\n'
    part_request = PartRequest(script="script.py", source=source, argv=(), folder=str(folder), gpu="none", offline=True)
    variables = {"HOLDFAST_REHEARSAL_BARE": "1"}
    with RehearsalServer([sys.executable], header="", wanted=["torch"], folder=tmp_path, variables=variables) as server:
        server.wait_ready(60)
        server.play([part_request], limit_s=120, limit_bytes=1 << 33)
    assert (folder / "stdout.log").read_text().splitlines() == ["out"], (folder / "stderr.log").read_text()


INTERRUPTED = """
import signal, sys
from pathlib import Path
from types import SimpleNamespace
from holdfast.adapters.rehearsal.server import RehearsalServer, outer_pid
from holdfast.payload.rehearsal.part_request import PartRequest

def interrupt(*_):
    raise KeyboardInterrupt

folder = Path(sys.argv[1])
silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
signal.signal(signal.SIGALRM, interrupt)
try:
    with RehearsalServer(silent, header="", wanted=[], folder=folder, variables={}) as server:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        server.play([PartRequest(script="a.py", source="", folder=str(folder / "whole"))], limit_s=60, limit_bytes=1 << 40)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_before_a_part_has_started_ends_the_rehearsal_and_not_holdfast(tmp_path: Path) -> None:
    """The part has no process yet, and the group of process 0 is our own: all of it was killed, shell pipelines too."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        start_new_session=True,
    )

    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_process_that_ends_while_it_is_looked_at_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel then answers "No such process" to who reads its status, though the file was there."""
    processes = {11: None, 12: "NSpid:\t12\t3\n", 13: "NSpid:\t13\t4\n"}

    def read_status(path: Path, **_: object) -> str:
        if (status := processes[int(path.parts[2])]) is None:
            raise ProcessLookupError
        return status

    children = [SimpleNamespace(pid=pid) for pid in processes]
    monkeypatch.setattr(psutil, "Process", lambda _: SimpleNamespace(children=lambda **_: children))
    monkeypatch.setattr(Path, "read_text", read_status)
    assert [outer_pid(inner, server=1, sandboxed=True) for inner in (3, 4, 5)] == [12, 13, 0]
    assert outer_pid(7, server=1, sandboxed=False) == 7
