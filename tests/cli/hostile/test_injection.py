"""Names that were made to look like something else: on a terminal, to GitHub, and in commands that a user copies."""

import json
import re
import shlex
from pathlib import Path

import pytest

from holdfast.cli.main import run_command
from holdfast.core.run.requested_job import RequestedJob
from holdfast.engine.formats.github import render_line
from holdfast.engine.run.advice import command_to_try_again

MISTAKE = "from trl import SFTConfig\nSFTConfig(max_seq_length=512, output_dir={!r})\n"
NAMES = [
    "a\n::error file=b.py::pwned.py",
    "a%0A::error::pwned.py",
    "a\r\n::add-mask::b.py",
    "a ##[add-matcher]b.py",
    "a\nb.py:1:1: ARG101 pwned.py",
    "a\x1b]52;c;cm0gLXJm\x07.py",
    "a\x9b2Jb.py",
    "a\u2028::error::b.py",
    "$(touch pwned).py",
    "a'; touch pwned; '.py",
    'a"b.py',
]
COMMANDS = re.compile(r"^\s*::(?!(?:error|warning|notice) )|^(?!::).*##\[", re.MULTILINE)
"""Of the older kind, GitHub looks for one in each line that is none of the newer."""
HARMFUL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[\d;]*m)")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_s_name_is_no_annotation_and_no_finding(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a pull request, whoever opens it chooses the names."""
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(MISTAKE.format(f"out\n::error::{name}"), encoding="utf-8")
    for options in (["--verbose"], []):
        run_command(["check", name, "--offline", "--format", "github", *options])
        shown = capsys.readouterr().out
        assert not COMMANDS.search(shown)
        assert not HARMFUL.search(shown)
        assert all(",title=" in line for line in shown.split("\n") if line.startswith("::"))

    run_command(["check", name, "--offline"])
    shown = capsys.readouterr().out
    assert not HARMFUL.search(shown)
    assert not re.search(r"(?m)^(?:::|b\.py:1:1)", shown)

    run_command(["check", name, "--offline", "--format", "sarif"])
    log = capsys.readouterr().out
    assert not HARMFUL.search(log)
    (result,) = [each for each in json.loads(log)["runs"][0]["results"] if each["ruleId"] == "ARG101"]
    assert "\n" not in result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_that_is_shown_names_one_file(name: str) -> None:
    """Copied into a shell, it starts nothing else."""
    for refused_by in ("check", "rehearsal"):
        words = shlex.split(command_to_try_again(RequestedJob(target=name, backend="local"), refused_by))
        assert words[:3] == ["holdfast", "check" if refused_by == "check" else "rehearse", name]


@pytest.mark.parametrize("name", ["$(touch pwned).jsonl", "a'; touch pwned; '.jsonl", "a b.jsonl"])
def test_a_fix_that_names_a_command_quotes_the_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error message is copied as often as an answer."""
    monkeypatch.chdir(tmp_path)
    Path(name).touch()
    run_command(["check", name])
    (command,) = re.findall(r"`(holdfast inspect .*)`", capsys.readouterr().err)
    assert shlex.split(command) == ["holdfast", "inspect", name]


def test_lines_beside_annotations_keep_their_words() -> None:
    """What is harmless stays."""
    assert render_line("1 error in 1 file; 48 rules not checked") == "1 error in 1 file; 48 rules not checked"
