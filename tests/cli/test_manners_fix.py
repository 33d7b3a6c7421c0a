"""`--fix` makes what it can and nothing else; `--diff` shows it and writes nothing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.write_back import write_back
from holdfast.cli.main import run_command
from holdfast.core.errors import SourceError

HEADER = "# /// script\n# dependencies = ['trl==1.16.0', 'transformers==5.23.0']\n# ///\n"
STALE = (
    HEADER
    + "from trl import SFTConfig  # ours\n\nargs = SFTConfig(\n    output_dir='out',\n    max_seq_length=512,  # enough\n"
    "    evaluation_strategy='no',\n)\n"
)
MENDED = STALE.replace("max_seq_length", "max_length").replace("evaluation_strategy", "eval_strategy")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run_command(["check", *words, "--select", "ARG", "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_fixes_are_made_and_comments_stay(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All at once; the answer is that of the fixed file, and says what was fixed."""
    (here / "train.py").write_text(STALE)
    code, answer = ask(capsys, "train.py", "--fix")
    (target,) = answer["targets"]

    assert (here / "train.py").read_text() == MENDED
    assert (code, target["findings"]) == (0, [])
    assert [(fix["code"], fix["line"]) for fix in target["fixed"]] == [("ARG101", 8), ("ARG101", 9)]
    assert ask(capsys, "train.py", "--fix")[1]["targets"][0]["fixed"] == []


def test_a_diff_shows_what_would_change_and_git_can_apply_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written; the exit code is that of the file as it is."""
    (here / "train.py").write_text(STALE)
    code, answer = ask(capsys, "train.py", "--diff")

    assert (here / "train.py").read_text() == STALE
    assert code == 1
    words = ["git", "apply", "-"]
    subprocess.run(words, input=answer["targets"][0]["diff"], text=True, check=True, cwd=here)
    assert (here / "train.py").read_text() == MENDED


def test_a_person_sees_the_diff_in_the_place_of_the_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And how many would be fixed."""
    (here / "train.py").write_text(STALE)
    run_command(["check", "train.py", "--select", "ARG", "--diff"])
    told = capsys.readouterr().out

    assert "\n-    max_seq_length=512,  # enough\n" in told
    assert "\n+    max_length=512,  # enough\n" in told
    assert "Would fix 2 findings (2 ARG101)" in told
    assert ": ARG101 " not in told


def test_every_file_of_a_folder_is_mended_but_what_cannot_be_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken file is told, and left as it is."""
    (here / "a.py").write_text(STALE)
    (here / "b.py").write_text(STALE + "f(\n")
    (here / "sub").mkdir()
    (here / "sub" / "c.py").write_text(STALE)
    code, answer = ask(capsys, ".", "--fix")

    assert code == 1
    assert (here / "a.py").read_text() == (here / "sub" / "c.py").read_text() == MENDED
    assert (here / "b.py").read_text() == STALE + "f(\n"
    assert [found["code"] for target in answer["targets"] for found in target["findings"]] == ["SYN001"]


def test_what_a_comment_lets_pass_is_not_mended(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is as the user wants it."""
    text = STALE.replace("# enough", "# holdfast: ignore[ARG101]")
    (here / "train.py").write_text(text)
    ask(capsys, "train.py", "--fix")

    assert (here / "train.py").read_text() == text.replace("evaluation_strategy", "eval_strategy")


def test_encoding_ends_of_lines_and_permissions_stay(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what the fix is about changes."""
    marked, latin, windows = here / "marked.py", here / "latin.py", here / "windows.py"
    marked.write_bytes(b"\xef\xbb\xbf" + STALE.encode())
    latin.write_bytes(f"# -*- coding: latin-1 -*-\n{STALE}x = 'ü'\n".encode("latin-1"))
    windows.write_bytes(STALE.replace("\n", "\r\n").encode())
    windows.chmod(0o750)
    (here / "link.py").symlink_to(latin)
    ask(capsys, "marked.py", "link.py", "windows.py", "--fix")

    assert marked.read_bytes() == b"\xef\xbb\xbf" + MENDED.encode()
    assert latin.read_bytes() == f"# -*- coding: latin-1 -*-\n{MENDED}x = 'ü'\n".encode("latin-1")
    assert windows.read_bytes() == MENDED.replace("\n", "\r\n").encode()
    assert windows.stat().st_mode & 0o777 == 0o750
    assert (here / "link.py").is_symlink()


def test_a_notebook_is_mended_in_its_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest of its JSON stays as it is."""
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": STALE.splitlines(keepends=True)}]
    text = json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {"ü": 1}}, indent=1)
    (here / "train.ipynb").write_text(text)
    (here / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n")
    ask(capsys, "train.ipynb", "--fix")

    assert (here / "train.ipynb").read_text() == text.replace("max_seq_length", "max_length").replace(
        "evaluation_strategy", "eval_strategy"
    )


def test_standard_input_can_be_shown_but_not_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nowhere to write it to."""

    class Given:
        def read(self) -> str:
            return STALE

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Given())
    code, answer = ask(capsys, "-", "--fix")
    _, shown = ask(capsys, "-", "--diff")

    assert code == 2
    assert "--diff" in answer["errors"][0]["fix"]
    assert "+    max_length=512" in shown["targets"][0]["diff"]


def test_a_file_that_cannot_be_written_is_told_and_whole(here: Path) -> None:
    """It says what was wrong, and leaves nothing half done."""
    (here / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1"))
    with pytest.raises(SourceError, match="cannot be written"):
        write_back("latin.py", "# -*- coding: latin-1 -*-\nx = '🤗'\n")
    with pytest.raises(SourceError, match="cannot be written"):
        write_back("none.py", "")

    assert (here / "latin.py").read_bytes() == "# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1")
    assert [path.name for path in here.iterdir()] == ["latin.py"]
