"""A script that prints without end: what is kept of it is bounded, and so is the disk that it takes."""

import sys
from pathlib import Path

import pytest

from holdfast.adapters.rehearsal import server
from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.payload.rehearsal.part_request import PartRequest


def play(folder: Path, source: str) -> PartResult:
    """Play a script in this environment."""
    (folder / "script.py").write_text(source)
    part_request = PartRequest(
        script=str(folder / "script.py"), source=source, folder=str(folder / "whole"), gpu="none"
    )
    with RehearsalServer([sys.executable], header="", wanted=[], folder=folder, variables={}) as rehearsals:
        rehearsals.wait_ready(60)
        return rehearsals.play([part_request], limit_s=60, limit_bytes=1 << 33)[0]


def test_of_much_output_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end has the exception; how much is missing is said."""
    monkeypatch.setattr(server, "MOST_OUTPUT", 2000)

    played = play(tmp_path, "print('first')\nfor _ in range(1000):\n    print('x' * 99)\nprint('last')\n")

    kept = played.logs["stdout.log"]
    assert kept.startswith("first\n")
    assert kept.endswith("last\n")
    assert "98,011 bytes are left out here" in kept
    assert len(kept) < 2500


def test_a_script_that_fills_the_disk_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before its time is up."""
    monkeypatch.setattr(server, "MOST_PRINTED", 10_000_000)

    played = play(tmp_path, "import sys\nwhile True:\n    sys.stderr.write('x' * 1000)\n")

    assert played.over == "it prints more than 0.01 GB"
    assert played.code is None


def test_events_that_a_script_wrote_itself_break_nothing(tmp_path: Path) -> None:
    """Lines that are no JSON, no object, nested without end, or of a kind that is not known."""
    source = (
        "import glob, os, sys\n"
        "folder = os.path.dirname(os.readlink('/proc/self/fd/1'))\n"
        "os.makedirs(os.path.join(folder, 'attempt'), exist_ok=True)\n"
        "for name in ('rehearsal.jsonl', 'attempt/events.jsonl'):\n"
        "    with open(os.path.join(folder, name), 'a') as file:\n"
        "        file.write('[1]\\nnull\\n{\\n' + '[' * 100000 + '\\n' + '{\"a\":' * 9000 + '\\n')\n"
        '        file.write(\'{"event": "fact"}\\n{"event": "fault"}\\n{"event": "stage", "name": 1}\\n\')\n'
        '        file.write(\'{"schema": 1}\\n{"event": 7, "schema": []}\\n{"event": "step", "step": "x"}\\n\')\n'
    )

    played = play(tmp_path, source)

    assert played.code == 0, played.logs
    assert not played.reported("fault")
    assert all(each.get("about") for each in played.reported("fact"))


@pytest.mark.parametrize(
    "line", ["os.kill(os.getppid(), 9)", "os.killpg(os.getppid(), signal.SIGTERM)", "os.kill(-1, 9)"]
)
def test_a_script_that_ends_what_started_it_fails(tmp_path: Path, line: str) -> None:
    """In a run, that is the process that watches the training."""
    played = play(tmp_path, f"import os, signal\n{line}\nprint('goes on')\n")

    (fault,) = played.reported("fault")
    assert "to the process that started it" in fault["because"]
    assert played.logs["stdout.log"] == "goes on\n"


def test_signals_to_its_own_processes_are_sent(tmp_path: Path) -> None:
    """Also the one that only asks whether there is a process."""
    source = (
        "import os, signal\n"
        "os.kill(os.getppid(), 0)\n"
        "child = os.fork()\n"
        "if not child:\n    signal.pause()\n"
        "os.kill(child, signal.SIGKILL)\nprint(os.waitpid(child, 0)[1])\n"
    )

    played = play(tmp_path, source)

    assert played.logs["stdout.log"] == "9\n"
    assert not played.reported("fault")
