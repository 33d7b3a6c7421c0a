"""`--fix` makes what it can and nothing else; `--diff` shows it and writes nothing."""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.write_back import write_back
from holdfast.cli.main import run_command
from holdfast.core.check.finding import Finding, Fix
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document, Edit, Remove, Rename, Set
from holdfast.core.text.places import TextEdit
from holdfast.engine.check.fixes import combine_fixes, render_diff

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


def test_a_command_line_can_be_shown_but_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """`--diff` shows each fix of it once; `--fix` is refused, and no fix is announced for it."""
    words = ("--offline", "--select", "ARG102", "--", "trl", "sft", "--bf16", "--model_name_or_path", "x")
    run_command(["check", "--diff", *words])
    assert "+trl sft --bf16 true --model_name_or_path x" in capsys.readouterr().out.splitlines()
    run_command(["check", *words])
    assert "1 fix; --diff shows what changes" in capsys.readouterr().out.splitlines()
    assert run_command(["check", "--fix", *words]) == 2
    assert "a command line cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("p = argparse.ArgumentParser()\np.add_argument('--n', default='5e-7')\na = p.parse_args()\n", "a.n"),
        ("def of(n='5e-7'):\n    return n\n\n\na = of()\n", "a"),
        ("a = os.environ.get('N', '5e-7') if False else '5e-7'\n", "a"),
        ("a = '5e-7'\n", "a"),
        ("a = {'n': '5e-7'}\n", "a['n']"),
        ("a = '5e-7'\n", "f'{a}'"),
    ],
)
@pytest.mark.parametrize("given", ["**{'learning_rate': VALUE}", "learning_rate=VALUE"], ids=["dict", "keyword"])
def test_what_stands_for_a_value_is_not_replaced_by_it(
    capsys: pytest.CaptureFixture[str], before: str, value: str, given: str
) -> None:
    """A fix replaces a literal, and no expression that gives a user's choice: of an option, of a default."""
    source = f"{HEADER}import argparse\nimport os\nfrom trl import SFTConfig\n\n{before}"
    source += f"args = SFTConfig(output_dir='out', {given.replace('VALUE', value)})\n"
    Path("train.py").write_text(source)
    for words in ((), ("--", "--n", "5e-6")):
        selected = ("--select", "ARG102", "--select", "ARG126")
        run_command(["check", "train.py", "--offline", *selected, "--unsafe-fixes", *words])
        told = capsys.readouterr().out
        found = ": ARG102 `learning_rate` is" in told or ": ARG126 `--n` gives" in told
        told_of = bool(words) or "add_argument" not in before or given.startswith("learning_rate")
        assert (found, "Fixed 0 findings" in told) == (told_of, True)
    assert Path("train.py").read_text() == source


def test_only_fixes_that_can_be_made_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """`--fix` leaves a script alone that a shell script runs: its fixes are told as advice."""
    Path("train.py").write_text(STALE)
    Path("run.sh").write_text("python train.py\n")
    for target in (("run.sh",), ("--", "python", "train.py")):
        run_command(["check", "--offline", "--select", "ARG", *target])
        out = capsys.readouterr().out
        assert "fix by hand: " in out
        assert "with --fix" not in out
    run_command(["check", "--fix", "--offline", "--select", "ARG", "run.sh"])
    assert "Fixed 0 findings" in capsys.readouterr().out
    _, told = ask(capsys, "run.sh")
    assert [each["fix"]["edits"] for each in told["targets"][0]["findings"]] == [[], []]
    run_command(["check", "--statistics", "--select", "ARG", "run.sh"])
    assert "[*] ARG" not in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_told_and_whole(here: Path) -> None:
    """It says what was wrong, and leaves nothing half done."""
    (here / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1"))
    with pytest.raises(SourceError, match="cannot be written"):
        write_back("latin.py", "# -*- coding: latin-1 -*-\nx = '🤗'\n")
    with pytest.raises(SourceError, match="cannot be written"):
        write_back("none.py", "")

    assert (here / "latin.py").read_bytes() == "# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1")
    assert [path.name for path in here.iterdir()] == ["latin.py"]


DOCUMENT = Document(path="job.yaml", kind="job", text="", values={})
LINES = {"a": 1, "b": 2, "train": 3, "train.a": 4, "train.b": 5, "trainer": 6, "nothing": 0, "refused": -1}


def place(_document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Each key stands on a line of its own, and what is written there is the edit."""
    lines = {edit: LINES[edit.key] for edit in edits}
    if -1 in lines.values():
        raise UsageError("it cannot be placed", where="here", fix="do it by hand")
    return tuple(TextEdit((line, 1), (line, 9), repr(edit)) for edit, line in lines.items() if line)


def finding(*edits: Edit, document: Document = DOCUMENT, safe: bool = True) -> Finding:
    return Finding(edits[0].key, f"wrong: {edits}", fix=Fix("mend it", edits, safe), document=document)


def made(*findings: Finding, unsafe: bool = False) -> tuple[list[int], int]:
    """Which of the findings are fixed together, and by how many edits of the text."""
    result = combine_fixes(findings, place, unsafe=unsafe)
    return [at for at, each in enumerate(findings) if any(each is one for one in result.fixed)], len(result.edits)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (Set("a", 1), Set("b", 1), True),
        (Set("a", 1), Set("a", 2), False),
        (Remove("train"), Set("train.a", 1), False),
        (Set("train.a", 1), Remove("train"), False),
        (Remove("train"), Set("trainer", 1), True),
        (Set("train.a", 1), Set("train.b", 1), True),
        (Rename("a", "b"), Set("b", 1), False),
        (Set("b", 1), Rename("a", "b"), False),
        (Rename("train.a", "b"), Set("train.b", 1), False),
        (Rename("train.a", "b"), Set("b", 1), True),
        (Rename("train.a", "b"), Set("a", 1), True),
        (Rename("a", "trainer"), Set("b", 1), True),
    ],
)
def test_of_two_fixes_about_one_key_the_second_waits_for_the_next_round(one: Edit, other: Edit, together: bool) -> None:
    """A key within another's is about that one, and so is the name that a key is given."""
    assert made(finding(one), finding(other)) == (([0, 1], 2) if together else ([0], 1))


def test_an_edit_that_two_rules_want_is_made_once_and_fixes_both() -> None:
    """Nor does it keep a third fix from being made that wants more beside it."""
    once, more = finding(Set("a", 1)), finding(Set("a", 1), Set("b", 1))

    assert made(once, replace(once, message="told by another rule")) == ([0, 1], 1)
    assert made(once, more) == ([0, 1], 2)
    assert made(more, once) == ([0, 1], 2)


def test_a_fix_that_may_change_what_was_meant_is_made_only_if_that_is_asked_for() -> None:
    findings = finding(Set("a", 1), safe=False), finding(Set("b", 1))

    assert made(*findings) == ([1], 1)
    assert made(*findings, unsafe=True) == ([0, 1], 2)


@pytest.mark.parametrize(
    "hopeless",
    [
        finding(Set("refused", 1)),
        finding(Set("nothing", 1)),
        Finding("a", "wrong", document=DOCUMENT),
        Finding("a", "wrong", fix=Fix("mend it", (Set("a", 1),))),
    ],
)
def test_what_cannot_be_made_keeps_no_other_fix_from_being_made(hopeless: Finding) -> None:
    """It cannot be placed, comes to nothing, or is no fix at all; it is not told as fixed."""
    assert made(finding(Set("b", 1)), hopeless, finding(Set("train.a", 1))) == ([0, 2], 2)


@pytest.mark.parametrize(
    ("start", "end", "path", "cell", "together"),
    [
        ((1, 9), (1, 12), "", None, True),
        ((1, 8), (1, 12), "", None, False),
        ((1, 1), (1, 1), "", None, False),
        ((1, 1), (1, 2), "", None, False),
        ((1, 3), (1, 4), "", None, False),
        ((2, 1), (2, 2), "", None, True),
        ((1, 3), (1, 4), "other.py", None, True),
        ((1, 3), (1, 4), "", 2, True),
    ],
)
def test_two_fixes_never_write_over_one_another(
    start: tuple[int, int], end: tuple[int, int], path: str, cell: int | None, together: bool
) -> None:
    """A file that trains two jobs has one text; so has a comment beside a setting. What only touches is made at once."""
    edit = TextEdit(start, end, "x", cell, path)
    twin = Document(path="job.yaml", kind="job", text="", values={})
    comment = Finding("a", "a comment", fix=Fix("take it out", (), text_edits=(edit,)), document=DOCUMENT)
    expected = ([0, 1], 2) if together else ([0], 1)

    def in_twin(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
        return (edit,) if document is twin else place(document, edits)

    assert made(finding(Set("a", 1)), comment) == expected
    assert made(comment, finding(Set("a", 1))) == expected
    findings = finding(Set("a", 1)), finding(Set("a", 2), document=twin)
    result = combine_fixes(findings, in_twin, unsafe=False)
    assert (len(result.fixed), len(result.edits)) == ((2, 2) if together else (1, 1))


def test_what_two_jobs_of_one_file_want_alike_is_written_once() -> None:
    """The same edit of the text is no quarrel, whether a setting's or a comment's."""
    twin = Document(path="job.yaml", kind="job", text="", values={})
    edit = TextEdit((7, 1), (7, 9), "")
    comments = [
        Finding("a", f"comment of {number}", fix=Fix("take it out", (), text_edits=(edit,)), document=DOCUMENT)
        for number in (1, 2)
    ]

    assert made(finding(Set("a", 1)), finding(Set("a", 1), document=twin)) == ([0, 1], 1)
    assert made(*comments) == ([0, 1], 1)


def test_fixes_that_rewrite_one_call_are_one_edit() -> None:
    """What the first alone would have written is forgotten when the second is made with it; comments stay edits of their own."""

    def rewrite(_document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
        return (TextEdit((1, 1), (1, 9), " and ".join(map(repr, edits))),)

    findings = [finding(Set("a", 1)), finding(Set("b", 2))]
    for line in (2, 3):
        edit = TextEdit((line, 1), (line, 9), "")
        findings.append(Finding("a", "a comment", fix=Fix("take it out", (), text_edits=(edit,)), document=DOCUMENT))
    result = combine_fixes(findings, rewrite, unsafe=False)

    assert len(result.fixed) == 4
    assert [edit.text for edit in result.edits] == [f"{Set('a', 1)!r} and {Set('b', 2)!r}", "", ""]


def test_a_diff_says_where_a_line_has_no_end() -> None:
    """As `git apply` wants it; where nothing changed there is none."""
    assert render_diff("a.py", "x = 1", "x = 2").splitlines() == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1 +1 @@",
        "-x = 1",
        "\\ No newline at end of file",
        "+x = 2",
        "\\ No newline at end of file",
    ]
    assert render_diff("a.py", "x = 1", "x = 1") == ""
