"""A run that is continued keeps to the job that it was started with, and says so if that has changed."""

from pathlib import Path

import pytest

from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.resume.verb import resume
from holdfast.app.run.continuing import continue_run
from holdfast.app.run.observers import NullObserver
from holdfast.app.run.opening import open_run
from holdfast.app.run.runs import Run
from holdfast.app.run.verb import run

SCRIPT = "import sys\nprint('one')\nsys.exit(1)\n"


class Listener(NullObserver):
    """Keeps the remarks on files."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def on_note(self, said: str) -> None:
        self.notes.append(said)


def test_a_run_that_is_running_is_said_to_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who types `resume` to start something learns why nothing starts."""
    monkeypatch.chdir(tmp_path)
    target, listener = tmp_path / "train.py", Listener()
    target.write_text(SCRIPT)
    first = run("train.py", rehearse=False, offline=True)
    opened = open_run(first.run, None)
    with supervising(opened.folder) as mine:
        assert mine
        assert continue_run(opened, listener) == opened
    assert isinstance(continue_run(opened, listener), Run)

    (said,) = listener.notes
    assert said.startswith(f"{first.run} is running already")


@pytest.mark.parametrize("edit", [SCRIPT.replace("one", "two"), SCRIPT])
def test_a_target_that_was_edited_is_said_not_to_count(
    edit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a way to make it count that holds on every backend."""
    monkeypatch.chdir(tmp_path)
    target, listener = tmp_path / "my train.py", Listener()
    target.write_text(SCRIPT)
    first = run("my train.py", rehearse=False, offline=True)
    target.write_text(edit)

    again = resume(first.run, observer=listener)

    assert Path(again.folder, "attempts", "2", "stdout.log").read_text() == "one\n"
    what = f"{target} has changed since the run started, and the run keeps to its own copy"
    said = f"{what}; `holdfast run` starts the job again with the changes"
    assert listener.notes == [said] * (edit != SCRIPT)
