"""A file that the system does not let holdfast read or write: one error, whichever way a verb is called."""

import json
import os
from collections.abc import Mapping
from errno import EDQUOT, EIO, ENOENT, ENOSPC
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app import load_api
from holdfast.cli.main import run_command
from holdfast.core.errors import SourceError

LONG = "a" * 300
"""A name that no file system takes."""
LOOP = "loop.py"
"""A link to itself."""
CASES: Mapping[str, tuple[list[str], Mapping[str, Any]]] = {
    "target": (["check", LONG], {"targets": LONG}),
    "link": (["check", LOOP], {"targets": LOOP}),
    "kept rows": (["inspect", "job.yaml", "--save", LONG], {"data": "job.yaml", "save": LONG}),
    "runs folder": (["runs", "--runs", LONG], {"runs": LONG}),
    "planned": (["plan", LONG], {"target": LONG}),
    "exported": (["export", "builtin:tiny-chat", "--out", LONG], {"model": "builtin:tiny-chat", "out": LONG}),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a job, and a link that leads nowhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / LOOP).symlink_to(LOOP)
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\n")
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n')


@pytest.mark.parametrize(("words", "arguments"), CASES.values(), ids=CASES)
def test_the_command_and_the_function_give_the_same_error(
    words: list[str], arguments: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the file, says why, and is no traceback."""
    code = run_command([*words, "--format", "json"])
    (printed,) = json.loads(capsys.readouterr().out)["errors"]
    with pytest.raises(holdfast.UsageError) as raised:
        load_api(words[0])(**arguments)

    assert code == 2
    assert printed == raised.value.as_json()
    assert LONG[:50] in printed["where"] or LOOP in printed["where"]
    assert "no file can have a name" in printed["what"] or "symbolic links" in printed["what"]


@pytest.mark.parametrize("name", ["rows.jsonl", b"rows.jsonl"], ids=["text", "bytes"])
@pytest.mark.parametrize(
    ("number", "fix"),
    [(ENOSPC, "free some disk space"), (EDQUOT, "free some disk space"), (EIO, "check the file and its permissions")],
)
def test_a_disk_that_fails_is_not_wrong_usage(
    number: int, fix: str, name: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a fact that could not be had, and the command ends with 1; a full disk is told as one."""

    def fail(_path: Path) -> None:
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr("holdfast.app.verify.verb.verify_checkpoint", fail)
    with pytest.raises(SourceError) as raised:
        load_api("verify")(".")

    assert (raised.value.where, raised.value.fix) == ("rows.jsonl", fix)
    assert run_command(["verify", "."]) == 1


@pytest.mark.parametrize(
    "error",
    [
        OSError("no file is named"),
        OSError(ENOSPC, "No space left on device"),
        FileNotFoundError(ENOENT, "No such file or directory", str(Path(holdfast.__file__).parent / "catalog/x.json")),
    ],
)
def test_an_error_that_names_no_file_of_the_user_is_our_own(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traceback is kept: nothing could be said of it."""

    def fail(_path: Path) -> None:
        raise error

    monkeypatch.setattr("holdfast.app.verify.verb.verify_checkpoint", fail)
    with pytest.raises(OSError, match=error.strerror or "no file"):
        run_command(["verify", "."])
