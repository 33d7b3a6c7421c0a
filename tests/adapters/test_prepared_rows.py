"""Prepared rows take the place of older ones, and of nothing else."""

import sys
from pathlib import Path

import pytest

from holdfast.adapters.prepared_rows import read_record, write_rows
from holdfast.core.errors import UsageError

SCRIPT = """
import json, sys
from pathlib import Path

folder = Path(sys.argv[sys.argv.index("--to") + 1])
folder.mkdir()
key = sys.argv[sys.argv.index("--key") + 1]
(folder / "train.jsonl").write_text("{}")
(folder / "README.md").write_text("")
files = {"train": {"file": "train.jsonl", "rows": 1, "bytes": 2, "sha256": ""}}
record = {"made_by": "holdfast", "key": key, "sources": [], "map": None, "chosen": {}, "files": files, "datasets": "5"}
(folder / "rows.json").write_text(json.dumps(record))
"""
"""What the rendered script does, without `datasets`."""


def save(folder: Path, key: str, script: str = SCRIPT) -> None:
    write_rows([sys.executable], script, folder, ["--key", key], {})


def key_in(folder: Path) -> str:
    record = read_record(folder)
    assert record is not None
    return record.key


def test_rows_take_the_place_of_older_ones(tmp_path: Path) -> None:
    """Nothing else is left; a link to the folder still leads to it."""
    (tmp_path / "link").symlink_to("kept")
    save(tmp_path / "kept", "first")
    save(tmp_path / "link", "second")

    assert key_in(tmp_path / "kept") == "second"
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "link"]


@pytest.mark.parametrize("name", ["my_notes.md", ".git/HEAD", "train.parquet"])
def test_files_of_the_users_beside_rows_are_kept(tmp_path: Path, name: str) -> None:
    """They are named, and the rows stay too."""
    folder = tmp_path / "kept"
    save(folder, "first")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine")

    with pytest.raises(UsageError, match=f"{Path(name).parts[0]}, which holdfast did not write"):
        save(folder, "second")
    assert (folder / name).read_text() == "mine"
    assert key_in(folder) == "first"


def test_a_rename_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier rows are there, under their name."""
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if path.name == "rows":
            raise OSError(28, "No space left on device")
        return rename(path, target)

    save(tmp_path / "kept", "first")
    monkeypatch.setattr(Path, "rename", fail)

    with pytest.raises(UsageError, match="No space left on device"):
        save(tmp_path / "kept", "second")
    assert key_in(tmp_path / "kept") == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import os; os.kill(os.getpid(), 9)", "the script was killed, most likely by the system for want of memory"),
        ("raise SystemExit(137)", "the script was killed"),
        ("import sys; print('no images', file=sys.stderr); sys.exit(65)", r"no images[\s\S]*leave out `--jsonl`"),
        ("raise SystemExit(3)", "the script ended with exit code 3"),
        (
            "import sys; sys.stderr.write('x' * 60_000_000); sys.exit('\\nno such word')",
            "cannot be prepared: no such word",
        ),
    ],
    ids=["killed", "killed-under-uv", "unfit", "silent", "long-log"],
)
def test_a_script_that_fails_says_why(tmp_path: Path, script: str, message: str) -> None:
    """Also one that wrote nothing, or more than is read."""
    with pytest.raises(UsageError, match=message):
        save(tmp_path / "kept", "first", script)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "fix"), [("import no_such_words", "start holdfast in the folder"), ("raise ValueError(1)", "the function")]
)
def test_a_script_that_fails_gets_the_fix_of_its_failure(tmp_path: Path, line: str, fix: str) -> None:
    """A module that is missing is no mistake in the data."""
    with pytest.raises(UsageError, match="cannot be prepared") as failed:
        save(tmp_path / "kept", "first", line)
    assert fix in failed.value.fix
