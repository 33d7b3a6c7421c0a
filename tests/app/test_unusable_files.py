"""A file that the system does not let holdfast read or write: one error, whichever way a verb is called."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app import load_api
from holdfast.cli.main import run_command

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
    assert re.search("too long|symbolic links|no file can have", printed["what"])


@pytest.mark.parametrize("error", [OSError("no file is named"), OSError(28, "No space left on device")])
def test_an_error_that_names_no_file_may_be_our_own(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traceback is kept: nothing could be said of it."""

    def fail(_path: Path) -> None:
        raise error

    monkeypatch.setattr("holdfast.app.verify.verb.verify_checkpoint", fail)
    with pytest.raises(OSError, match=str(error.args[-1])):
        run_command(["verify", "."])
