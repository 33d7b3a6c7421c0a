"""A job file is read with the place of everything in it, or every objection to it is told with its place."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import JobError
from holdfast.core.job.document import Key
from tests.helpers.job_texts import job_texts

READER = JobFileReader()


def objections(text: str) -> list[JobError]:
    with pytest.raises(ExceptionGroup) as raised:
        READER.read(text, "job.yaml")
    assert all(isinstance(problem, JobError) for problem in raised.value.exceptions)
    return [problem for problem in raised.value.exceptions if isinstance(problem, JobError)]


def test_plain_words_are_read_as_yaml_1_2_has_them() -> None:
    """`2e-5` is a number and `yes` is text; so are dates and times."""
    text = (
        "a: [2e-5, 0x10, 0o17, 012, 1., .5, -.inf, ~, TRUE, '1']\nb: [yes, off, 2024-01-01, 12:30, 1_000, 1.0.0]\nc:\n"
    )

    assert READER.read(text, "job.yaml").values == {
        "a": [2e-5, 16, 15, 12, 1.0, 0.5, float("-inf"), None, True, "1"],
        "b": ["yes", "off", "2024-01-01", "12:30", "1_000", "1.0.0"],
        "c": None,
    }


@pytest.mark.parametrize("number", ["0x" + "f" * 6000, "0o" + "7" * 6000])
def test_a_number_that_python_cannot_write_is_text(number: str) -> None:
    """So it is a mistake in the job; as a number, no command could show it."""
    assert READER.read(f"a: {number}\n", "job.yaml").values == {"a": number}


def test_every_key_and_value_has_its_place() -> None:
    """Places are what an editor would select, in lines and characters from 1, behind a mark or an emoji too."""
    document = READER.read("\ufeffname: 😀 # x\r\ntrain: {a: 'b c'}\r\nlist:\r\n- x\r\n- k: |\r\n    y\r\n", "job.yaml")

    def spot(places: dict[Key, Any], *key: str | int) -> tuple[int, int, int, int]:
        place = places[key]
        return place.line, place.column, place.end_line, place.end_column

    assert spot(dict(document.places), "name") == (1, 8, 1, 9)
    assert spot(dict(document.key_places), "train") == (2, 1, 2, 6)
    assert spot(dict(document.places), "train", "a") == (2, 12, 2, 17)
    assert spot(dict(document.places), "list", 0) == (4, 3, 4, 4)
    assert spot(dict(document.places), "list", 1, "k") == (5, 6, 6, 6)
    assert document.place("list.1.k.deeper").line == 5


@given(job_texts())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reads_what_was_meant(written: tuple[str, dict[str, Any]]) -> None:
    """However a job is laid out, its values are those that were written down."""
    text, meant = written

    assert json.dumps(READER.read(text, "job.yaml").values) == json.dumps(meant)


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 2, 4, "bracket"),
        ('a: 1\nb: "open\n', 2, 4, "quote"),
        ("train:\n\ta: 1\n", 2, 1, "tab"),
        ("a: b: c\n", 1, 5, "no key can stand"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "fits no mapping"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, "given twice"),
        ("a: &shared 1\n", 1, 4, "anchor"),
        ("a: !!python/object:os.system {}\n", 1, 4, "tag"),
        ("1: a\n", 1, 1, "not text"),
        ("a: 1\n---\nb: 2\n", 2, 1, "second document"),
        ("- a\n", 1, 1, "a list"),
        ("sft\n", 1, 1, "a single value"),
        ("# nothing\n", 1, 1, "nothing"),
        ("a: \0\n", 1, 4, "U+0000"),
        ('a: "\\ud800"\n', 1, 4, "half a character"),
        ("a: @x\n", 1, 4, "begins with"),
        ("%YAML 1.9\n---\na: 1\n", 1, 1, "invalid YAML"),
        ('a: "\\UFFFFFFFF"\n', 1, 2, "invalid YAML"),
    ],
)
def test_bad_yaml_is_told_with_its_place(text: str, line: int, column: int, what: str) -> None:
    """What is wrong with the YAML is said once, where it begins, with a fix."""
    (problem,) = objections(text)

    assert what in problem.what
    assert (problem.spot.line, problem.spot.column) == (line, column)
    assert problem.fix


def test_all_that_a_job_file_may_not_have_is_told_at_once() -> None:
    """Anchors, aliases, tags and doubled keys do not hide one another."""
    problems = objections("a: &x 1\nb: *x\na: 2\nc: !t 3\n2: z\n")

    assert [problem.spot.line for problem in problems] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\n" + "".join(f"k{i}: &k{i} [*a, *a, *a, *a, *a]\n" for i in range(200)),
        "[" * 100_000,
        "a: {" * 1000,
        "x" * 10_000_000,
        "- " * 60_000,
    ],
    ids=["alias bomb", "brackets", "mappings", "ten million characters", "dashes"],
)
@pytest.mark.timeout(120)
def test_hostile_files_are_refused_soon(text: str) -> None:
    """Nothing grows with what a small file could stand for, or with how deep it nests."""
    assert objections(text)


def test_file_too_long_for_a_job_is_refused_unread() -> None:
    """A file of another kind, named by mistake, is not read for minutes first."""
    (problem,) = objections("a: 1  # " + "x" * 200_000)

    assert "characters" in problem.what


PIECES = [
    *"abc:,[]{}\"'|>-?&*!%@`#\t \n\r\\~.0",
    "\n  ",
    "- ",
    ": ",
    "---\n",
    "%YAML 1.1\n",
    "\\U",
    "!!int ",
    "<<: *a",
    "\ufeff",
]


@given(
    st.lists(st.sampled_from([*PIECES, "\x85", "\u2028", "\ud800", "\0", "a: 1\n", "b:\n"]), max_size=40).map("".join)
)
@settings(deadline=None, max_examples=300)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever the text, the answer is a document or JobErrors."""
    try:
        READER.read(text, "job.yaml")
    except* JobError:
        event("refused")
