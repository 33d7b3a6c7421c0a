"""Judging rows: numbers, batches, what is read, and what stays bounded."""

from typing import Any

import polars as pl
import pytest

from holdfast.catalog.data.scanned import numbers, rows_phrase
from holdfast.catalog.formats.settings import ColumnSettings
from holdfast.core.check.finding import Finding, Skip
from holdfast.core.job.document import Document, Unknown
from holdfast.core.rows.columns import NULL, STRING, ListOf, Scalar, Struct, Type
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows, Scan, UnreadablePart
from holdfast.core.rows.shape import Shape
from holdfast.engine.check.rule_runner import run_rules
from holdfast.engine.scan.reads import what_is_read
from holdfast.engine.scan.sameness import Sameness, repeated
from holdfast.engine.scan.tally import MOST_DETAILS, OTHERS, DamageTally
from holdfast.rules import all_rules
from tests.helpers.sampling import sampled
from tests.helpers.scanned import FakeRows, assistant, findings, good, scan, scan_frame, user

CHAT = ListOf(Struct({"role": STRING, "content": STRING}))


def test_first_rows_are_told_and_all_are_counted() -> None:
    """Of 50 bad rows, the numbers of the first 20 are kept, over all batches, and all are counted."""
    (found,) = scan([{"text": None if index % 2 else f"{index}"} for index in range(100)], "sft").marked

    assert (found.mark, found.count) == ("null", 50)
    assert found.rows == tuple(range(1, 100, 2))[:FIRST_ROWS]


def test_a_row_with_the_same_damage_twice_is_one_row() -> None:
    """Two blank turns in a conversation are one row with blank turns."""
    (found,) = scan([{"messages": [user(""), assistant(""), user(" "), assistant("a")]}], "sft").marked

    assert (found.mark, found.detail, found.count, found.rows) == ("empty-turn", "blank", 1, (0,))


def test_rows_that_could_not_be_read_keep_their_numbers() -> None:
    """Numbers are those of the batches, not of what was read: two rows are broken after the first three."""
    rows = FakeRows.of([{"text": text} for text in ("a", "b", "c", "d", None, "a")])
    rows.skipped, rows.broken = 2, (UnreadablePart("data.jsonl", "not JSON", line=4, row=3),)
    found = scan_frame(rows)

    assert {(marked.mark, marked.rows) for marked in found.marked} == {("null", (6,)), ("duplicate", (7,))}
    assert (found.rows, found.broken) == (6, rows.broken)


def test_what_differs_in_every_row_is_bounded() -> None:
    """A new role in each row makes no more than a few findings, the rest are told together."""
    found = scan([{"messages": [{"role": f"speaker {index}", "content": "a"}]} for index in range(90)], "sft").marked
    roles = [marked for marked in found if marked.mark == "unknown-role"]

    assert len(roles) == MOST_DETAILS + 1
    assert (roles[-1].detail, roles[-1].count) == (OTHERS, 90 - MOST_DETAILS)


def test_copies_are_counted_from_the_second_on() -> None:
    """Three rows that are the same are two copies; rows that lack what is read are not the same."""
    texts = ["a", "b", "a", None, "a", None]

    assert [
        marked for marked in scan([{"text": text} for text in texts], "sft").marked if marked.mark == "duplicate"
    ] == [DamagedRows("duplicate", "", 2, (2, 4))]


def test_sameness_is_eight_bytes_a_row() -> None:
    """What is kept of a row is one hash, whatever the row holds."""
    sameness = Sameness()
    sameness.add(pl.Series([1, 2], dtype=pl.UInt64), 0)
    sameness.add(pl.Series([2], dtype=pl.UInt64), 5)

    assert sameness.together().estimated_size() == 3 * 8
    assert list(sameness.marked()) == [DamagedRows("duplicate", "", 1, (5,))]
    assert repeated(pl.Series([5, 3, 5, None, 5, None])).to_list() == [5, 5]


def test_many_different_rows_are_not_taken_for_the_same() -> None:
    """Hashes of 200,000 rows that differ in one letter, or in how their turns are cut, are all different."""
    turns = [[user(f"{index}"), assistant("ab")] for index in range(50_000)]
    cut = [[user(f"{index}a"), assistant("b")] for index in range(50_000)]
    frame = pl.DataFrame({"messages": turns + cut})
    rows = FakeRows(pl.concat([frame, frame.reverse()]), size=30_000)
    found = [marked for marked in scan_frame(rows).marked if marked.mark == "duplicate"]

    assert [marked.count for marked in found] == [100_000]


def test_fields_that_templates_do_not_write_make_no_difference() -> None:
    """Two conversations that differ in their messages' weights are the same; in their calls, they are not."""
    call = [{"function": {"name": "add"}}]
    plain = {"messages": [user(), {**assistant(""), "weight": 0, "tool_calls": None}]}
    heavy = {"messages": [user(), {**assistant(""), "weight": 1, "tool_calls": None}]}
    calling = {"messages": [user(), {**assistant(""), "weight": 0, "tool_calls": call}]}
    (copies,) = [marked for marked in scan([plain, heavy, calling], "sft").marked if marked.mark == "duplicate"]

    assert copies.rows == (1,)


@pytest.mark.parametrize(
    ("columns", "method", "types", "read"),
    [
        ({"messages": CHAT, "text": STRING}, "sft", (), ("messages",)),
        ({"prompt": STRING, "completion": STRING, "text": STRING}, "sft", (), ("prompt", "completion")),
        ({"body": STRING, "text": STRING}, "sft", (), ("body",)),
        ({"prompt": CHAT, "solution": STRING}, "grpo", (), ("prompt",)),
        ({"prompt": STRING, "chosen": STRING, "rejected": STRING}, None, ("preference",), ("prompt", "chosen", "rejected")),
        ({"messages": STRING, "id": STRING}, "sft", (), ("messages",)),
        ({"input_ids": ListOf(Scalar("integer")), "text": STRING}, "sft", (), ()),
        ({"question": STRING}, None, (), ()),
    ],
)  # fmt: skip
def test_only_what_is_read_is_judged(
    columns: dict[str, Type], method: str | None, types: tuple[str, ...], read: tuple[str, ...]
) -> None:
    """A method decides which columns count; where it finds none, those that look as if they were to be read."""
    shape = Shape(types=types)  # type: ignore[arg-type]  # given as plain words
    assert what_is_read(columns, shape, method, ColumnSettings(text_field="body")).content == read


def test_rows_that_are_rewritten_are_passed_over() -> None:
    """Where the job rewrites its rows, a rule that found damage in what it starts from is skipped."""
    found = scan([{"text": None}, {"text": "a"}], "sft")
    for values in (
        {"dataset": {"path": "data", "map": "rows.py:fix"}},
        {"dataset": {"path": "d", "map": Unknown("computed")}},
    ):
        document = Document(path="data", kind="data", values={"method": "sft", **values})
        rules = [rule for rule in all_rules() if rule.code in ("DAT206", "DAT207")]
        (skipped,) = run_rules(rules, document, {"scan": found})
        assert isinstance(skipped, Skip)
        assert skipped.missing == ("dataset.map",)


def test_messages_name_counts_and_rows() -> None:
    """A finding says how many of how many rows, and which come first."""
    (told,) = findings(Scan(rows=15806, marked=(DamagedRows("no-assistant", "messages", 3, (3, 17, 99)),)), "sft")
    assert told.message == "3 of 15,806 rows have no assistant turn in `messages`: 3, 17, 99"
    assert numbers(DamagedRows("null", "text", 9, tuple(range(9)))) == ": 0, 1, 2, 3, 4, …"
    assert rows_phrase(Scan(rows=2), DamagedRows("one-class", "label", 2), "{is_} true") == "2 of 2 rows are true"


def test_an_empty_frame_and_an_empty_split_are_nothing() -> None:
    """No rows give an empty scan, and nothing breaks."""
    rows = FakeRows(pl.DataFrame(schema={"text": pl.String}))
    assert scan_frame(rows, evaluated=rows) == Scan(rows=0, columns={"text": STRING})


def test_a_tally_keeps_the_order_of_what_it_finds() -> None:
    """What came up first is told first."""
    tally = DamageTally()
    tally.add("null", "b", pl.Series([3]))
    tally.add("null", "a", pl.Series([1]))
    tally.add("null", "b", pl.Series([7, 7]))
    tally.add("null", "c", pl.Series([], dtype=pl.Int64))

    assert [(marked.column, marked.count, marked.rows) for marked in tally.marked()] == [
        ("b", 2, (3, 7)),
        ("a", 1, (1,)),
    ]


@pytest.mark.parametrize("method", sampled([None, "sft", "dpo", "kto", "reward", "grpo", "rloo"], 3))
def test_any_columns_are_survived(method: str | None) -> None:
    """Whatever types the columns that trainers read are of, judging them ends."""
    odd: tuple[Any, ...] = (
        None,
        3,
        2.5,
        True,
        "a",
        b"a",
        [],
        ["a"],
        [None],
        [[1]],
        [{"a": 1}],
        {"a": 1},
        [user()],
        user(),
        [{"role": 3}],
    )
    for value in odd:
        for name in ("messages", "conversations", "prompt", "completion", "chosen", "label", "tools", "images", "text"):
            rows = FakeRows.of([{**good("pair", index), **good("text", index), name: value} for index in range(4)])
            found = scan_frame(rows, method, rows)
            assert all(isinstance(told, Finding) for told in findings(found, method))


def test_a_column_without_values_is_null_in_each_row() -> None:
    """A column of the type null is told as such."""
    rows = FakeRows(pl.DataFrame({"text": [None, None]}))
    assert rows.columns == {"text": NULL}
    assert scan_frame(rows).marked == (DamagedRows("null", "text", 2, (0, 1)),)


@pytest.mark.parametrize(("rejected", "code"), [("The capital is Rome.", "DAT249"), ("Rome is the capital.", "DAT217")])
def test_a_question_that_the_model_is_not_shown_is_named_once(rejected: str, code: str) -> None:
    """Beside answers that begin alike and beside others, one rule names the column that no trainer reads."""
    rows = [
        {"question": f"What is city {at}?", "chosen": f"The capital is {at}.", "rejected": rejected} for at in range(9)
    ]

    named = [each for each in findings(scan(rows, "dpo"), "dpo") if "`question`" in each.message]

    assert [each.rule.code for each in named if each.rule] == [code]


PAIR = {"chosen": "The capital is Rome.", "rejected": "The capital is Oslo."}
CONVERSATION = [{"role": "user", "content": "And the capital?"}, {"role": "assistant", "content": "Rome."}]


@pytest.mark.parametrize(
    ("row", "method", "advice"),
    [
        (
            PAIR | {"question": "What is its capital?"},
            "dpo",
            "put it into the prompt, for example by the name `prompt`",
        ),
        (PAIR | {"system": "You are kind."}, "dpo", "put it into the prompt"),
        (PAIR | {"prompt": "Its capital?", "system": "You are kind."}, "dpo", "put it into `prompt`"),
        ({"text": "The capital is Rome.", "problem": "What is its capital?"}, "sft", "put it into `text`"),
        ({"messages": CONVERSATION, "system": "You are kind."}, "sft", "put it into `messages`"),
        ({"prompt": "Hi you.", "completion": "Hello you.", "system": "You are kind."}, "sft", "put it into `prompt`"),
    ],
)
def test_words_that_the_model_is_not_shown_belong_to_what_it_reads(
    row: dict[str, Any], method: str, advice: str
) -> None:
    """The name `prompt` is offered where data stay readable with it: beside texts or messages alone, they do not."""
    messages = [
        each.message for each in findings(scan([row] * 9, method), method) if each.rule and each.rule.code == "DAT249"
    ]

    assert [message.split(": ", 1)[1] for message in messages] == [advice]


def test_all_columns_that_the_model_is_not_shown_are_named() -> None:
    """Of a system message and a question beside pairs that begin differently, both are."""
    rows = [
        {"system": "You are kind.", "question": f"What is {at}?", "chosen": f"{at}.", "rejected": "No."} for at in "abc"
    ]

    (found,) = [each for each in findings(scan(rows, "dpo"), "dpo") if each.rule and each.rule.code == "DAT217"]

    assert "`system`, `question` are not read" in found.message
