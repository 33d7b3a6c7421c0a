"""A document answers for every spelling of a key, and edits change what they name and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core.job.document import (
    ABSENT,
    Document,
    Edit,
    Remove,
    Rename,
    Set,
    Unknown,
    apply_edits,
    parse_key,
    render_key,
)
from holdfast.core.text.places import LineIndex, Place, TextEdit, apply_text_edits

HERE = Place("--set")


def document(values: Mapping[str, Any]) -> Document:
    return Document(path="job.yaml", kind="job", values=values)


def test_short_form_answers_for_the_long_one() -> None:
    """`model: x` and `model: {path: x}` give the same answer, and an edit spells the short one out."""
    short, long = document({"model": "tiny"}), document({"model": {"path": "tiny"}})

    assert short.get("model.path") == long.get("model.path") == "tiny"
    assert short.get("model.dtype") is ABSENT
    assert apply_edits(short.values, [Set("model.dtype", "float32")]) == {"model": {"path": "tiny", "dtype": "float32"}}
    assert document({"name": "tiny"}).get("name.path") is ABSENT


def test_what_the_source_hides_stays_hidden() -> None:
    """Everything under an unknown value is unknown, and no edit guesses what it holds."""
    hidden = document({"train": Unknown()})

    assert isinstance(hidden.get("train.max_length"), Unknown)
    with pytest.raises(KeyError):
        apply_edits(hidden.values, [Set("train.max_length", 512)])


def test_digits_name_a_position_or_a_key() -> None:
    """`evaluate.0` is the first of a list, and the key `0` of a mapping."""
    values = {"evaluate": [{"metric": "a"}], "by_rank": {"0": "x"}}

    assert document(values).get("evaluate.0.metric") == "a"
    assert document(values).get("by_rank.0") == "x"
    assert apply_edits(values, [Set("by_rank.0", "y"), Set("evaluate.0.metric", "b")]) == {
        "evaluate": [{"metric": "b"}],
        "by_rank": {"0": "y"},
    }


@pytest.mark.parametrize(
    "edit",
    [
        Remove("train.absent"),
        Rename("train.absent", "x"),
        Rename("train.a", "b"),
        Set("train.a.deeper", 1),
        Set("list.1", 1),
        Remove("list.0"),
        Set("", 1),
        Remove("empty.a"),
    ],
    ids=str,
)
def test_impossible_edit_is_refused(edit: Edit) -> None:
    """An edit of what is not there, or onto a name that is taken, changes nothing and says which key."""
    with pytest.raises(KeyError, match=f"^'{edit.key}'$"):
        apply_edits({"train": {"a": 1, "b": 2}, "list": [0], "empty": None}, [edit])


def test_edits_leave_the_original_alone() -> None:
    """Edits are made to a copy, in order, and missing parents are made."""
    values: dict[str, Any] = {"train": {"max_seq_length": 512, "seed": 1}, "peft": None}
    edits: list[Edit] = [
        Rename("train.max_seq_length", "max_length"),
        Set("peft.r", 8),
        Remove("train.seed"),
        Set("where.nodes", 2),
    ]

    assert apply_edits(values, edits) == {"train": {"max_length": 512}, "peft": {"r": 8}, "where": {"nodes": 2}}
    assert values == {"train": {"max_seq_length": 512, "seed": 1}, "peft": None}


def test_override_takes_the_place_of_all_below_it() -> None:
    """After an override, a key under it is said to come from there, and no longer from the file."""
    path = Place("job.yaml", 3, 3, 3, 7)
    read = Document(
        path="job.yaml",
        kind="job",
        values={"dataset": {"path": "a"}},
        places={("dataset",): path, ("dataset", "path"): path},
        key_places={("dataset", "path"): path},
    )

    assert read.with_values([Set("dataset", {"path": "b"})], HERE).place("dataset.path") == HERE
    assert read.with_values([Set("name", "x")], HERE).place("dataset.path") == path
    assert read.with_values([Rename("dataset.path", "file")], HERE).place("dataset.file") == HERE


@given(st.text("ab\n\r\x85\u2028\x0c", max_size=30), st.data())
@settings(deadline=None)
def test_lines_and_offsets_agree(text: str, data: st.DataObject) -> None:
    """Every offset has a line and column that lead back to it, whatever ends a line in other places."""
    lines = LineIndex(text)
    offset = data.draw(st.integers(0, len(text)))

    assert lines.offset(lines.position(offset)) == offset
    line, column = lines.position(offset)
    assert line == sum(start <= offset for start in lines.starts)
    assert column == offset - lines.starts[line - 1] + 1
    assert lines.place("a.py", 0, offset) == Place("a.py", 1, 1, line, column)
    assert len(lines.starts) == 1 + text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def test_overlapping_text_edits_are_refused() -> None:
    """Two edits of one character are a mistake; two that touch are made in order."""
    with pytest.raises(ValueError, match="line 1, column 2"):
        apply_text_edits("abc", [TextEdit((1, 1), (1, 3), "x"), TextEdit((1, 2), (1, 4), "y")])
    touching = [TextEdit((1, 2), (1, 3), "y"), TextEdit((1, 1), (1, 2), "x"), TextEdit((1, 3), (1, 3), "z")]
    assert apply_text_edits("abc", touching) == "xyzc"


@given(st.text("ab.01٣²-", max_size=8) | st.text(max_size=12))
@settings(deadline=None)
def test_every_text_is_some_key(text: str) -> None:
    """Splitting a key never fails and loses nothing: `007`, or digits of other scripts, are names."""
    assert render_key(parse_key(text)) == text
