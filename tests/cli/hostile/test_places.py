"""Places that cannot be read or written are told with what to do, and end with the exit code of the contract."""

import os
from pathlib import Path

import pytest

from holdfast.cli.main import run_command

JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\n"
WRONG = {
    "a folder that is not there": (["render", "job.yaml", "--output", "none/x.py"], 2, "cannot be written"),
    "a device that is full": (["render", "job.yaml", "--output", "/dev/full"], 2, "cannot be written"),
    "a link to itself": (["evaluate", "loop", "--on", "rows.jsonl", "--offline"], 2, "loop"),
    "a name that is too long": (["verify", "a" * 300], 2, "no such folder"),
    "a path that is too long": (["verify", "a/" * 3000], 2, "no such folder"),
    "a number that is too long": (["render", "job.yaml", "--set", "seed=0x" + "f" * 5000], 2, "`seed`"),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB)
    Path("rows.jsonl").write_text('{"text": "a"}\n')
    Path("loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, code, what = WRONG[name]

    assert run_command(words) == code
    told = capsys.readouterr()
    assert what in told.err
    assert "fix:" in told.err


def test_a_folder_that_was_deleted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (gone := place / "gone").mkdir()
    os.chdir(gone)
    gone.rmdir()

    assert run_command(["check", "x.py"]) == 2
    assert "the current folder was deleted" in capsys.readouterr().err
