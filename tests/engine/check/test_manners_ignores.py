"""A comment lets a finding pass, and nothing else does."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import read_cells
from holdfast.core.text.places import Place
from holdfast.engine.check.suppress import find_ignores, split_suppressed


def silent() -> Iterator[Finding]:
    yield from ()


RULE = Rule(
    code="ARG101",
    name="renamed-argument",
    explain="",
    severity=Severity.ERROR,
    check=silent,
    source="",
    bad=(Case(job=""),),
    good=(Case(job=""),),
)


def passes(text: str, line: int | None, *, path: str = "train.py", cell: int | None = None) -> bool:
    """True if a finding of ARG101 on a line is let pass."""
    document = (
        JobFileReader().read(text, path)
        if path.endswith(".yaml")
        else Document(path=path, kind="script", text=text, values={})
    )
    finding = Finding("train.x", "wrong", rule=RULE, place=Place(path, line, 1, cell=cell))
    standing, passed = split_suppressed([finding], [document])
    assert len(standing) + len(passed) == 1
    return bool(passed)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# holdfast: ignore[ARG101]", True),
        ("# holdfast: ignore[ARG101] it is right here", True),
        ("#holdfast:ignore[ARG101]", True),
        ("# holdfast: ignore[DEP101, ARG101] because", True),
        ("# holdfast: ignore[ARG]", True),
        ("# holdfast: ignore", True),
        ("# holdfast: ignore because", True),
        ("# noqa: E501  # holdfast: ignore[ARG101]  # type: ignore", True),
        ("# holdfast: ignore[DEP101]", False),
        ("# holdfast: ignore[ARG1010]", False),
        ("# holdfast: ignore[]", False),
        ("# holdfast: ignore[ARG101", False),
        ("# holdfast: ignored", False),
        ("# holdfast: ignore-files", False),
        ("# noholdfast: ignore[ARG101]", False),
        ("# noqa", False),
    ],
)
def test_a_comment_on_the_line_lets_its_codes_pass(comment: str, expected: bool) -> None:
    """All codes where it names none; never more than it says, and nothing where it is misspelt."""
    assert passes(f"x = 1  {comment}\n", 1) is expected
    assert passes(f"job: {{a: 1}}  {comment}\n", 1, path="job.yaml") is expected
    assert passes(f"x = 1  {comment}\ny = 2\n", 2) is False


CALL = """\
a = 1{after_a}
{above}
config = SFTConfig({first}
    output_dir="out",{middle}
    # about the next
    max_seq_length=(
        512
    ),{last_argument}
){end}
b = 2
"""
IGNORE = "  # holdfast: ignore[ARG101]"


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ("after_a", {1}),
        ("above", set(range(3, 10))),
        ("first", set(range(3, 10))),
        ("middle", {4}),
        ("last_argument", {8}),
        ("end", {9}),
    ],
)
def test_a_comment_speaks_of_its_line_or_of_the_statement_that_begins_there(where: str, lines: set[int]) -> None:
    """On the first line of a statement, or above it, of the whole statement; inside it of one line."""
    texts = dict.fromkeys(("after_a", "above", "first", "middle", "last_argument", "end"), "")
    text = CALL.format(**{**texts, where: IGNORE})

    assert {line for line in range(1, 11) if passes(text, line)} == lines


def test_a_comment_of_its_own_speaks_of_the_next_line_of_code() -> None:
    """Other comments may stand between; a blank line may not."""
    above = "# holdfast: ignore[ARG101] old\n"

    assert passes(f"{above}# and more of it\nx = 1\n", 3)
    assert not passes(f"{above}\nx = 1\n", 3)
    assert passes(f"f(\n    {above}    x=1,\n)\n", 3)
    assert passes(f"f(\n    {above}    # and more of it\n    x=1,\n)\n", 4)
    assert not passes(f"def f():\n    {above}    return 1\n", 1)
    assert passes(f"{above}def f(\n    x,\n):\n    return 1\n", 2)
    assert not passes(f"{above}def f():\n    return 1\n", 3)


@pytest.mark.parametrize(
    "text",
    [
        's = "# holdfast: ignore[ARG101]"\n',
        's = """\n# holdfast: ignore-file[ARG101]\n"""; x = 1\n',
        "s = f'{x} # holdfast: ignore'\n",
    ],
)
def test_a_string_is_no_comment(text: str) -> None:
    """Python's own tokenizer says what is one."""
    assert not any(passes(text, line) for line in (1, 2, 3))


@pytest.mark.parametrize(
    "text",
    [
        "a: '# holdfast: ignore'\n",
        "a: x#holdfast:ignore\n",
        "a: |\n  x # holdfast: ignore\n",
        'a: "b\n  # holdfast: ignore"\n',
    ],
)
def test_a_text_in_a_job_file_is_no_comment(text: str) -> None:
    """Nor is a `#` that stands right behind a word."""
    assert not any(passes(text, line, path="job.yaml") for line in (1, 2))


def test_a_comment_in_a_job_file_speaks_of_its_line_or_the_next() -> None:
    """As in a script."""
    text = "train:\n  # holdfast: ignore[ARG101] later\n  a: 1\n  b: 2 # holdfast: ignore\n"

    assert [passes(text, line, path="job.yaml") for line in (1, 3, 4)] == [False, True, True]


def test_comments_of_a_shell_script_are_heard() -> None:
    """Behind a command, or above one that goes on over several lines; not in a quoted text."""
    text = "# holdfast: ignore[ARG]\ntrl sft \\\n  --a 1 \\\n  --b 2\ntrl dpo --c 3 # holdfast: ignore\necho '# holdfast: ignore'\n"

    def lets_pass(line: int) -> bool:
        finding = Finding("train.x", "wrong", rule=RULE, place=Place("run.sh", line, 1))
        document = Document(path="run.sh", kind="command", text=text, values={})
        return not split_suppressed([finding], [document])[0]

    assert [lets_pass(line) for line in range(1, 7)] == [False, True, True, True, True, False]


@pytest.mark.parametrize(
    ("before", "heard"),
    [
        ("trl sft --a 'x y' ", True),
        ('trl sft --a "x y" ', True),
        ("trl sft --a 'x' --b \"y z\" ", True),
        ("trl sft --a 'x' --b 'y' --c 'z' ", True),
        ("trl sft --a 'x ", False),
        ('trl sft --a "x ', False),
        ("trl sft --a 'x' 'y ", False),
        ('trl sft --a "x" "y ', False),
        ("trl sft --a x", False),
    ],
)
def test_in_a_shell_script_quotes_that_are_closed_hold_no_comment(before: str, heard: bool) -> None:
    """Those that are open do, and a `#` that a word ends in is part of the word."""
    text = f"{before}# holdfast: ignore[ARG101]\n"

    assert bool(find_ignores(Document(path="run.sh", kind="command", text=text, values={}))) is heard


def test_a_comment_right_below_a_text_of_a_job_file_is_heard() -> None:
    """The text ends with its last line."""
    text = "a: |\n  x\n# holdfast: ignore[ARG101]\nb: 1\n"

    assert [passes(text, line, path="job.yaml") for line in (2, 4)] == [False, True]


def test_what_another_file_or_no_rule_says_stands() -> None:
    """A comment speaks of its own file, and of rules alone: that a file cannot be read is no rule's word."""
    document = Document(
        path="train.py", kind="script", text="x = 1  # holdfast: ignore\n# holdfast: ignore-file\n", values={}
    )
    findings = [
        Finding("train.x", "elsewhere", rule=RULE, place=Place("other.py", 1, 1)),
        Finding("train.x", "nowhere", rule=RULE),
        Finding("train.x", "of no rule", place=Place("train.py", 1, 1)),
    ]

    assert split_suppressed(findings, [document]) == (findings, [])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(end: str) -> None:
    """And count the same."""
    text = f"x = 1{end}y = f({end}2){end}z = 3  # holdfast: ignore[ARG101]{end}"

    assert [passes(text, line) for line in (1, 2, 3, 4)] == [False, False, False, True]


def test_the_reason_is_what_stands_behind_the_brackets() -> None:
    """Empty where there is none."""
    texts = ("x = 1  # holdfast: ignore[ARG101]  it is mine \n", "x = 1  # holdfast: ignore\n")
    documents = (Document(path="a.py", kind="script", text=text, values={}) for text in texts)

    assert [find_ignores(document)[0].reason for document in documents] == ["it is mine", ""]


def test_ignore_file_speaks_of_the_whole_file() -> None:
    """Of findings without a line too, which no other comment reaches."""
    assert passes("x = 1\n# holdfast: ignore-file[ARG101] generated\n", None)
    assert passes("x = 1\ny = 2  # holdfast: ignore-file\n", 1)
    assert not passes("x = 1\n# holdfast: ignore-file[DEP]\n", 1)
    assert not passes("x = 1  # holdfast: ignore\n", None)


def test_each_cell_of_a_notebook_has_its_own_comments() -> None:
    """Lines count in the cell; IPython's own lines do no harm; a file's comment speaks of every cell."""
    cells = [
        {"cell_type": "markdown", "source": "# holdfast: ignore-file"},
        {"cell_type": "code", "source": ["%pip install 'trl\n", "!ls $(\n", "x = 1  # holdfast: ignore[ARG101]\n"]},
        {"cell_type": "code", "source": "a = 1\nb = 2\nx = 1"},
    ]
    text = json.dumps({"cells": cells})

    assert passes(text, 3, path="n.ipynb", cell=2)
    assert not passes(text, 3, path="n.ipynb", cell=3)
    assert not passes(text, 1, path="n.ipynb", cell=1)
    cells.append({"cell_type": "code", "source": "# holdfast: ignore-file[ARG]"})
    assert passes(json.dumps({"cells": cells}), 3, path="n.ipynb", cell=3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{}]}', "no JSON"])
def test_a_broken_notebook_has_no_cells(text: str) -> None:
    """Its reader says what is wrong with it."""
    assert read_cells(text) == {}


def test_comments_before_an_error_still_count() -> None:
    """A file that ends in the middle has findings, too."""
    assert passes("x = 1  # holdfast: ignore\nf(\n", 1)


@given(st.text(alphabet="#'\"\\()[]\n\r\t :ax"), st.text(alphabet="#'\"\\()[]\n\r\t :ax"))
def test_any_text_is_read_without_an_error(before: str, after: str) -> None:
    """Whatever stands around a comment."""
    text = f"{before}# holdfast: ignore[ARG101]{after}"

    assert isinstance(find_ignores(Document(path="a.py", kind="script", text=text, values={})), tuple)
