"""A run that is continued keeps to the job that it was started with, and says so if that has changed."""

from pathlib import Path

import pytest

from holdfast.app.resume.verb import resume
from holdfast.app.run.observers import NullObserver
from holdfast.app.run.verb import run

SCRIPT = "import sys\nprint('one')\nsys.exit(1)\n"


class Listener(NullObserver):
    """Keeps the remarks on files."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def on_note(self, said: str) -> None:
        self.notes.append(said)


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
