"""A job file is edited without touching another character, or the edit is refused."""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import ndiff
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import JobError
from holdfast.core.job.document import Document, Edit, Key, Remove, Rename, Set, apply_edits, render_key
from holdfast.core.text.places import TextEdit, apply_text_edits
from tests.helpers.job_texts import job_texts, values

READER = JobFileReader()
JOB = """\
# A job.
name: first   # its name
model: Qwen/Qwen2.5-0.5B
train:  # settings
  # how fast
  learning_rate: 2.0e-5  # a rate
  "optim": 'adamw_torch'
  prompt: |
    Answer
    briefly.

  # more to come
peft: {r: 16, "lora_alpha": 32,  # rank, scale
       lora_dropout: 0.1}
quantization: {
  load_in_4bit: true,  # four
}
environment:
evaluate:
- dataset: a
  metric: loss
- {dataset: b, metric: loss}
rewards:
  - one.py:score  # mine
  - two.py:score
seed: 42"""


def edited(text: str, *edits: Edit) -> str:
    return apply_text_edits(text, READER.place_edits(READER.read(text, "job.yaml"), edits))


def changed_lines(text: str, *edits: Edit) -> list[str]:
    """The lines that go and come."""
    after = edited(text, *edits)
    return [line for line in ndiff(text.splitlines(), after.splitlines()) if line[0] in "+-"]


def alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (
            Set("train.learning_rate", 1e-5),
            ["-   learning_rate: 2.0e-5  # a rate", "+   learning_rate: 1e-05  # a rate"],
        ),
        (Set("train.learning_rate", 2.0e-5), []),
        (Set("train.optim", "sgd"), ["-   \"optim\": 'adamw_torch'", "+   \"optim\": 'sgd'"]),
        (Set("train.max_length", 512), ["+   max_length: 512"]),
        (Set("train.prompt", "Go."), ["-   prompt: |", "+   prompt: Go.", "-     Answer", "-     briefly."]),
        (
            Set("model.dtype", "float32"),
            ["- model: Qwen/Qwen2.5-0.5B", "+ model: {path: Qwen/Qwen2.5-0.5B, dtype: float32}"],
        ),
        (
            Set("peft.r", 8),
            ['- peft: {r: 16, "lora_alpha": 32,  # rank, scale', '+ peft: {r: 8, "lora_alpha": 32,  # rank, scale'],
        ),
        (Set("peft.bias", "none"), ["-        lora_dropout: 0.1}", "+        lora_dropout: 0.1, bias: none}"]),
        (Set("quantization.x", 1), ["+   x: 1,"]),
        (Set("environment.variables.A", "x: y"), ["+   variables:", "+     A: 'x: y'"]),
        (Set("evaluate.1.metric", "f1"), ["- - {dataset: b, metric: loss}", "+ - {dataset: b, metric: f1}"]),
        (Set("evaluate.0.limit", 10), ["+   limit: 10"]),
        (Set("rewards", ["one.py:score", "two.py:score", "len"]), ["+   - len"]),
        (Set("output.gguf", ["q4_k_m"]), ["+ output:", "+   gguf: [q4_k_m]"]),
        (
            Remove("peft.lora_alpha"),
            ['- peft: {r: 16, "lora_alpha": 32,  # rank, scale', "+ peft: {r: 16,   # rank, scale"],
        ),
        (Remove("evaluate.0.dataset"), ["- - dataset: a", "-   metric: loss", "+ - metric: loss"]),
        (Remove("quantization.load_in_4bit"), ["-   load_in_4bit: true,  # four"]),
        (Remove("seed"), ["- seed: 42"]),
        (Rename("train.optim", "optimizer"), ["-   \"optim\": 'adamw_torch'", "+   \"optimizer\": 'adamw_torch'"]),
    ],
    ids=str,
)
def test_edit_changes_just_these_lines(edit: Edit, lines: list[str]) -> None:
    """Each kind of edit in each style of text touches the lines that it must."""
    assert changed_lines(JOB, edit) == lines


def test_a_value_is_all_that_is_replaced() -> None:
    """A new value takes the place of the old one's characters, and not one more."""
    document = READER.read(JOB, "job.yaml")
    edits = READER.place_edits(document, [Set("train.learning_rate", 1e-5), Set("name", "second")])

    assert edits == (TextEdit((2, 7), (2, 12), "second"), TextEdit((6, 18), (6, 24), "1e-05"))


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("a: 1", Set("b", 2), "a: 1\nb: 2"),
        ("a: 1\r\nb:\r\n# c\r\n", Set("b.c", 2), "a: 1\r\nb:\r\n  c: 2\r\n# c\r\n"),
        ("\ufeffa: 1\nb: 2\n", Remove("a"), "\ufeffb: 2\n"),
        ("\ufeffa:\n", Set("a.b", 1), "\ufeffa:\n  b: 1\n"),
        ("a: 1\nb: 2", Remove("b"), "a: 1"),
        ("---\na: 1\n...\n", Set("b", 2), "---\na: 1\nb: 2\n...\n"),
        ("a: 1  # one\n", Remove("a"), "{}  # one\n"),
        ("a:  # one\n  # two\n  b: 1  # three\n", Remove("a.b"), "a: {}  # one\n  # two\n"),
        ("a:  # one\n  - b\n  - c\nd: 1\n", Set("a", None), "a: null  # one\nd: 1\n"),
        ("a: {}\n", Set("a.b.c", [1]), "a: {b: {c: [1]}}\n"),
        ("{}", Set("a", {"b": 1}), "{a: {b: 1}}"),
        ("a: {b: 1, }\n", Remove("a.b"), "a: { }\n"),
        ("a: {  # one\n  b: 1\n}\n", Set("a.c", 2), "a: {  # one\n  b: 1,\n  c: 2\n}\n"),
        ("a: [1]  # one\n", Set("a", [1, 2]), "a: [1, 2]  # one\n"),
        ("a:\n- b: 1  # one\n  c: 2\n", Remove("a.0.b"), "a:\n-   # one\n  c: 2\n"),
        ("a:\n", Set("a", 1), "a: 1\n"),
        ("a: {b: }\n", Set("a.c", 1), "a: {b: , c: 1 }\n"),
    ],
    ids=repr,
)
def test_layout_is_kept(before: str, edit: Edit, after: str) -> None:
    """Line ends, marks, the missing last newline, comments and brackets stay as they are."""
    assert edited(before, edit) == after


def test_edits_are_made_in_order() -> None:
    """An edit may lean on those before it, and what two of them leave as it was is not touched."""
    rename: list[Edit] = [Rename("train.learning_rate", "lr"), Set("train.lr", 1e-4)]

    assert changed_lines(JOB, *rename) == ["-   learning_rate: 2.0e-5  # a rate", "+   lr: 0.0001  # a rate"]
    assert edited(JOB, Set("new.key", 1), Remove("new")) == JOB


def test_whole_mapping_is_changed_in_its_parts() -> None:
    """Setting a mapping keeps the comments of the entries that stay."""
    text = "train:  # settings\n  a: 1  # one\n  b: 2  # two\n"

    assert edited(text, Set("train", {"c": 3, "a": 1})) == "train:  # settings\n  a: 1  # one\n  c: 3\n"


@pytest.mark.parametrize(
    ("text", "edit", "because"),
    [
        ("a: 1\n", Remove("b"), "no such key"),
        ("a: 1\nb: 2\n", Rename("a", "b"), "new name"),
        ("a: 1\n", Set("a.b", 1), "neither a mapping"),
        ("a: 1\n", Set("b", object), "not plain data"),
        ("a: 1\n", Set("b", "\ud800"), "not understood"),
        ("? a\n: 1\nb: 2\n", Remove("a"), "not understood"),
    ],
    ids=repr,
)
def test_edit_that_cannot_be_placed_is_refused(text: str, edit: Edit, because: str) -> None:
    """A refusal says why; a damaged file is never the answer."""
    with pytest.raises(JobError, match=because) as refused:
        edited(text, edit)
    assert edit.key in refused.value.what


def keys(of: Any, above: Key = ()) -> Iterator[Key]:
    """Every key path of some values."""
    for part, value in of.items() if isinstance(of, dict) else enumerate(of) if isinstance(of, list) else ():
        yield (*above, part)
        yield from keys(value, (*above, part))


@st.composite
def some_edits(draw: st.DrawFn, of: dict[str, Any]) -> list[Edit]:
    """Up to three edits that can be made one after another."""
    made: list[Edit] = []
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([(), *keys(of)]))
        new = (*key, *draw(st.lists(st.sampled_from(["new", "k: y", "0"]), min_size=1, max_size=2)))
        edit: Edit = draw(
            st.one_of(
                st.builds(Set, st.sampled_from([render_key(key or new), render_key(new)]), values),
                st.builds(Remove, st.just(render_key(key or new))),
                st.builds(Rename, st.just(render_key(key or new)), st.sampled_from(["new", ": z", "null"])),
            )
        )
        try:
            of = apply_edits(of, [edit])
        except KeyError:
            continue
        made.append(edit)
    return made


@pytest.mark.long
@given(st.data(), job_texts())
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_edited_text_says_the_edited_values(data: st.DataObject, written: tuple[str, dict[str, Any]]) -> None:
    """Whatever the layout, reading the edited text gives the values with the edits made."""
    text, meant = written
    edits = data.draw(some_edits(meant))

    assert alike(READER.read(edited(text, *edits), "job.yaml").values, apply_edits(meant, edits))


def notes(text: str) -> set[str]:
    return set(re.findall(r"# note \d+\.", text))


def within(document: Document, edit: Edit, lost: Iterable[str]) -> bool:
    """True if comments stand on the lines of the entry that an edit names."""
    key = next(key for key in document.places if render_key(key) == edit.key)
    first, last = document.place(key).line or 0, document.places[key].end_line or 0
    lines = document.text.splitlines()
    return all(any(note in line for line in lines[first - 1 : last]) for note in lost)


@given(st.data(), job_texts())
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_comments_outlive_edits(data: st.DataObject, written: tuple[str, dict[str, Any]]) -> None:
    """The only comments that go stand on the lines of what is removed or replaced; what is around stays to the letter."""
    text, meant = written
    edits = data.draw(some_edits(meant))
    assume(len(edits) == 1)
    document = READER.read(text, "job.yaml")
    lost = notes(text) - notes(edited(text, *edits))

    assert not lost or within(document, edits[0], lost)


@given(st.data(), job_texts())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lines_outside_an_entry_stay(data: st.DataObject, written: tuple[str, dict[str, Any]]) -> None:
    """A change of one value leaves every line before its key and after its end byte for byte."""
    text, meant = written
    key = data.draw(st.sampled_from(list(keys(meant))))
    document = READER.read(text, "job.yaml")
    lines = text.splitlines(keepends=True)
    first, last = document.place(key).line or 0, document.places[key].end_line or 0
    after = edited(text, Set(render_key(key), data.draw(values)))

    assert after.startswith("".join(lines[: first - 1]))
    assert after.endswith("".join(lines[last:]))
