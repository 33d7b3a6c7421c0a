"""Damaged datasets, each found by the rule that is about it, and refused for nothing else."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.core.check.finding import Severity
from holdfast.core.rows.columns import ListOf, Scalar
from holdfast.core.rows.scan import Scan, UnreadablePart
from holdfast.engine.check.rule_runner import severity_of
from tests.helpers.scanned import FakeRows, Row, assistant, findings, good, scan, scan_frame, system, user

ODD = 4
"""Number of the row that is damaged; there are good ones before and after it, in other batches too."""
TOOLS = json.dumps([{"type": "function", "function": {"name": "add"}}])
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
WRITTEN_CALL = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
NAMELESS_CALL = {"type": "function", "function": {"name": None, "arguments": {"a": 1}}}
PLACE = {"type": "image", "text": None}
SAID = {"type": "text", "text": "What is this?"}
LONG = "How many apples are there in the basket?"


@dataclass(frozen=True)
class Damaged:
    """A dataset with something wrong.

    Attributes:
        name: What is wrong.
        code: The rule that is to say so.
        kind: Of the good rows.
        bad: What differs in the bad row; of every row, where `all_rows`.
        method: What it is for.
        more: Columns that good rows have too.
        error: Whether it is an error.
    """

    name: str
    code: str
    kind: str
    bad: Row
    method: str
    error: bool = False
    all_rows: bool = False
    more: Row | None = None

    @property
    def rows(self) -> list[Row]:
        rows = [{**good(self.kind, index), **(self.more or {})} for index in range(8)]
        return [{**row, **self.bad} if self.all_rows or index == ODD else row for index, row in enumerate(rows)]


def one(name: str, code: str, kind: str, bad: Row, method: str, **more: Any) -> Damaged:
    return Damaged(name, code, kind, bad, method, **more)


def chat(name: str, code: str, *turns: Row, **more: Any) -> Damaged:
    return Damaged(name, code, "messages", {"messages": list(turns)}, "sft", **more)


def text(name: str, damage: str) -> Damaged:
    return Damaged(name, "DAT223", "text", {"text": damage}, "sft")


DAMAGED = [
    one("null text", "DAT206", "text", {"text": None}, "sft", error=True),
    one("null messages", "DAT206", "messages", {"messages": None}, "sft", error=True),
    one("null conversations", "DAT206", "sharegpt", {"conversations": None}, "sft", error=True),
    one("null prompt", "DAT206", "completion", {"prompt": None}, "sft", error=True),
    one("null completion", "DAT206", "completion-chat", {"completion": None}, "sft", error=True),
    one("null chosen", "DAT206", "pair", {"chosen": None}, "dpo", error=True),
    one("null rejected", "DAT206", "implicit-chat", {"rejected": None}, "reward", error=True),
    one("null label", "DAT206", "label", {"label": None}, "kto", error=True),
    one("null prompt to answer", "DAT206", "prompt-chat", {"prompt": None}, "grpo", error=True),
    one("a column of nulls", "DAT206", "text", {"text": None}, "sft", error=True, all_rows=True),
    one("no messages in a row", "DAT207", "messages", {"messages": []}, "sft", error=True),
    one("no messages in a prompt", "DAT207", "pair-chat", {"prompt": []}, "dpo", error=True),
    one("no messages in an answer", "DAT207", "label-chat", {"completion": []}, "kto", error=True),
    one("no messages to answer", "DAT207", "prompt-chat", {"prompt": []}, "rloo", error=True),
    one("a blank text", "DAT207", "text", {"text": " \n\t"}, "sft"),
    one("a blank prompt", "DAT207", "prompt", {"prompt": ""}, "grpo"),
    one("a blank answer", "DAT215", "completion", {"completion": "  "}, "sft"),
    one("a blank chosen answer", "DAT215", "pair", {"chosen": ""}, "dpo"),
    one("a blank answer with its prompt", "DAT215", "implicit", {"rejected": ""}, "dpo", error=True),
    one("a number for a text", "DAT203", "text", {"text": 7}, "sft", error=True, all_rows=True),
    one("a number for a prompt", "DAT203", "completion", {"prompt": 7}, "sft", error=True, all_rows=True),
    one("a list of texts for an answer", "DAT203", "pair", {"chosen": ["a"]}, "dpo", error=True, all_rows=True),
    one("one message for a list", "DAT203", "pair-chat", {"chosen": assistant()}, "dpo", error=True, all_rows=True),
    one("a word for a label", "DAT203", "label", {"label": "good"}, "kto", error=True, all_rows=True),
    one("stars for labels", "DAT203", "label", {"label": 4}, "kto", all_rows=True),
    one("a message that says a number", "DAT203", "messages", {"messages": [user(1), assistant(2)]}, "sft", all_rows=True),
    one("messages as JSON", "DAT208", "messages", {"messages": json.dumps([user()])}, "sft", error=True, all_rows=True),
    one("messages as Python", "DAT208", "messages", {"messages": str([user()])}, "sft", error=True, all_rows=True),
    one("a prompt as JSON", "DAT208", "completion", {"prompt": json.dumps([user()])}, "sft"),
    one("a pair as Python", "DAT208", "implicit", {"chosen": str([user()]), "rejected": str([user()])}, "reward"),
    one("conversations as JSON", "DAT208", "sharegpt", {"conversations": '[{"from": "human"'}, "sft", error=True, all_rows=True),
    chat("a role in capitals", "DAT209", {"role": "User", "content": "a"}, assistant()),
    chat("a role of another model", "DAT209", user(), {"role": "model", "content": "2"}),
    chat("no role", "DAT209", {"role": None, "content": "a"}, assistant()),
    chat("a function's role", "DAT209", user(), assistant(), {"role": "function", "content": "2"}, assistant()),
    one(
        "ShareGPT's own roles",
        "DAT209",
        "sharegpt",
        {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
        "sft",
        all_rows=True,
    ),
    chat("two users in a row", "DAT210", user("a"), user("b"), assistant()),
    chat("two assistants in a row", "DAT210", user(), assistant("a"), assistant("b")),
    chat("a late system turn", "DAT210", user(), system(), assistant()),
    chat("an assistant who begins", "DAT210", assistant(), user(), assistant()),
    chat("a tool that nobody called", "DAT210", user(), {"role": "tool", "content": "2"}, assistant()),
    one("a prompt that is answered", "DAT210", "completion-chat", {"prompt": [user(), assistant("So ")]}, "sft"),
    chat("no assistant", "DAT211", user()),
    one("no assistant in an answer", "DAT211", "pair-chat", {"chosen": [user("2")]}, "dpo"),
    chat("the user has the last word", "DAT212", user(), assistant(), user("Thanks")),
    one("an answer that goes on", "DAT212", "label-chat", {"completion": [assistant(), user("Thanks")]}, "kto"),
    chat("no user", "DAT213", system(), assistant()),
    one("no user in a prompt", "DAT213", "prompt-chat", {"prompt": [system()]}, "grpo"),
    chat("a user who says null", "DAT214", user(None), assistant()),
    chat("an assistant who says nothing", "DAT214", user(), assistant("")),
    chat("a user who says blanks", "DAT214", user(" \n"), assistant()),
    one("the same two answers", "DAT216", "pair", {"chosen": "2", "rejected": "2"}, "dpo"),
    one("the same two conversations", "DAT216", "implicit-chat", {"chosen": [user(), assistant()], "rejected": [user(), assistant()]}, "reward"),
    one("all pairs the same", "DAT216", "pair-chat", {"chosen": [assistant()], "rejected": [assistant()]}, "dpo", error=True, all_rows=True),
    one("answers to two questions", "DAT217", "implicit-chat", {"chosen": [user("a"), assistant()]}, "dpo", error=True),
    one("answers without a question", "DAT217", "implicit-chat", {"chosen": [assistant("a")], "rejected": [assistant("b")]}, "kto", error=True),
    one("texts without a prompt", "DAT217", "implicit", {"chosen": "Yes", "rejected": "No"}, "dpo"),
    one("a prompt put twice", "DAT218", "pair", {"prompt": LONG, "chosen": f"{LONG} 2"}, "dpo"),
    one("a conversation put twice", "DAT218", "pair-chat", {"prompt": [user()], "chosen": [user(), assistant()]}, "dpo"),
    one("a row twice", "DAT219", "messages", good("messages", 0), "sft"),
    one("a row twice with two ids", "DAT219", "pair", {**good("pair", 0), "id": "b"}, "dpo", more={"id": "a"}),
    one("all good", "DAT221", "label", {"label": True}, "kto", all_rows=True),
    one("all bad, as numbers", "DAT221", "label-chat", {"label": 0}, "kto", all_rows=True),
    one("one answer to everything", "DAT228", "pair", {"chosen": "no"}, "dpo", all_rows=True),
    one("one message to everything", "DAT228", "pair-chat", {"chosen": [assistant("no")]}, "reward", all_rows=True),
    text("a lost character", "caf\ufffd"),
    text("UTF-8 as Latin-1", "Ã¼ber das cafÃ©"),
    text("UTF-8 as cp1252", "Itâ€™s fine"),
    text("a degree sign", "It is 25 Â°C"),
    text("emoji", "good ðŸ™ƒ"),
    text("Cyrillic", "привет".encode().decode("cp1252", "ignore")),
    text("Chinese", "世界".encode().decode("cp1252")),
    text("a NUL character", "a\x00b"),
    text("a backspace", "a\x08b"),
    text("half a surrogate pair", "smile \\ud83d"),
    chat("a lost character in a message", "DAT223", user("caf\ufffd"), assistant()),
    one("a label too few", "DAT224", "steps", {"labels": [True]}, ""),
    one("tools that are words", "DAT225", "messages", {"tools": "add(a, b)"}, "sft", error=True, more={"tools": TOOLS}),
    one("tools as Python", "DAT225", "messages", {"tools": "[{'type': 'function'}]"}, "sft", error=True, more={"tools": TOOLS}),
    one("no tools as text", "DAT225", "pair-chat", {"tools": ""}, "dpo", error=True, more={"tools": TOOLS}),
    one("one tool and no list", "DAT225", "messages", {"tools": '{"name": "add"}'}, "sft", error=True, more={"tools": TOOLS}),
    one("tools that are numbers", "DAT225", "messages", {"tools": 3}, "sft", error=True, all_rows=True),
    chat("calls that are text", "DAT226", user(), assistant("", tool_calls=json.dumps([CALL])), error=True),
    chat("a call that is text", "DAT226", user(), assistant("", tool_calls=[json.dumps(CALL)]), error=True),
    chat("arguments that are text", "DAT226", user(), assistant("", tool_calls=[WRITTEN_CALL])),
    chat("a call without a name", "DAT226", user(), assistant("", tool_calls=[NAMELESS_CALL])),
    one("no image", "DAT227", "messages", {"images": []}, "sft", more={"images": [b"png"]}),
    one("a null image", "DAT227", "messages", {"images": [None]}, "sft", more={"images": [b"png"]}),
    one(
        "a place without an image",
        "DAT227",
        "nothing",
        {"messages": [user([PLACE, PLACE, SAID]), assistant([SAID])]},
        "sft",
        error=True,
        more={"images": [b"png"], "messages": [user([PLACE, SAID]), assistant([SAID])]},
    ),
]  # fmt: skip


def names_row(message: str, row: int) -> bool:
    """Whether a message tells of a row: `Row 4 has null in …`, `1 of 20 rows: 4`."""
    return message.startswith(f"Row {row} ") or f": {row}" in message


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda damaged: damaged.name)
def test_damage_is_named(damaged: Damaged) -> None:
    """Whatever is wrong is told by the rule about it, of the right row, and no other rule refuses the data."""
    found = scan(damaged.rows, damaged.method or None)
    told = findings(found, damaged.method or None)
    errors = {finding.rule.code for finding in told if finding.rule and severity_of(finding) is Severity.ERROR}
    mine = [finding for finding in told if finding.rule and finding.rule.code == damaged.code]

    assert mine, [finding.message for finding in told]
    assert errors == ({damaged.code} if damaged.error else set()), [finding.message for finding in told]
    if not damaged.all_rows:
        beside = {"uneven-classes", "duplicate"} - ({"duplicate"} if damaged.code == "DAT219" else set())
        assert {row for marked in found.marked if marked.mark not in beside for row in marked.rows} == {ODD}
        assert any(names_row(finding.message, ODD) for finding in mine), mine


def test_there_are_as_many_as_promised() -> None:
    """At least 60 kinds of damage are tried, each by a name of its own, and each rule about rows is among them."""
    names = [damaged.name for damaged in DAMAGED]

    assert len(names) == len(set(names)) >= 60
    by_themselves = {"DAT201", "DAT202", "DAT204", "DAT205", "DAT220", "DAT222"}  # below
    assert {damaged.code for damaged in DAMAGED} | by_themselves == {f"DAT{number}" for number in range(201, 229)}


def codes(found: Scan, method: str = "sft", **job: Any) -> dict[str, Severity]:
    return {told.rule.code: severity_of(told) for told in findings(found, method, **job) if told.rule}


def test_rows_in_both_splits_are_told_by_what_is_read() -> None:
    """A row of the evaluation split is found among those to train on, though its id and its other fields differ."""
    train = [{**good("messages", index), "id": index} for index in range(7)]
    turns = [{**turn, "tool_calls": None, "weight": 1} for turn in good("messages", 5)["messages"]]
    found = scan(train, "sft", evaluated=[{"messages": turns, "id": "x"}, good("messages", 90)])

    assert [(marked.mark, marked.rows) for marked in found.marked] == [("leaked", (5,))]
    assert found.eval_rows == 2
    assert codes(found) == {"DAT220": Severity.WARNING}
    assert codes(found, "grpo") == {"DAT220": Severity.INFO}


@pytest.mark.parametrize(("rows", "chance", "told"), [(8, (), True), (40, (), True), (40, (3,), False), (5, (), False)])
def test_answers_that_all_begin_with_a_short_prompt_are_told(rows: int, chance: Sequence[int], told: bool) -> None:
    """One answer may begin like a short prompt by chance, and not all of many."""
    pairs = [
        {"prompt": f"Q{index}", "completion": f"{'' if index in chance else f'Q{index} '}A{index}"}
        for index in range(rows)
    ]

    assert ("DAT218" in codes(scan(pairs, "sft"))) == told


def test_empty_prompts_are_not_repeated() -> None:
    """Every text begins with nothing."""
    assert "DAT218" not in codes(scan([{"prompt": "", "completion": f"A{index}"} for index in range(20)], "sft"))


def test_labels_that_are_uneven_are_told_unless_weighted() -> None:
    """Twenty good ones for a bad one are mentioned, with the weight that makes up for it."""
    found = scan([{**good("label", index), "label": index != 3} for index in range(42)], "kto")
    (told,) = findings(found, "kto")

    assert told.rule
    assert (told.rule.code, severity_of(told)) == ("DAT222", Severity.INFO)
    assert "`undesirable_weight: 41`" in told.message
    assert codes(found, "kto", train={"undesirable_weight": 41.0}) == {}


@pytest.mark.parametrize(
    ("values", "odd"),
    [(["a", "3", "b"], (1,)), (['["x"]', "a", "b"], (0,)), (['{"a": 1}', "a", "b"], (0,))],
)
def test_mixed_types_are_told(values: Sequence[str], odd: tuple[int, ...]) -> None:
    """In a column whose rows differ in type, those that are no text are told."""
    rows = FakeRows.of([{"text": value} for value in values], {"text": Scalar("json")})
    found = scan_frame(rows)

    assert [(marked.mark, marked.rows) for marked in found.marked] == [("mixed-types", odd)]
    assert codes(found) == {"DAT204": Severity.ERROR}


def test_messages_that_are_lists_only_sometimes_are_told() -> None:
    """Where one row has its messages as text, and the others as lists, it is that row."""
    values = [json.dumps([user("a"), assistant("b")]), "hello", json.dumps([user("b"), assistant("c")])]
    rows = FakeRows.of([{"messages": value} for value in values], {"messages": Scalar("json")})
    found = scan_frame(rows)

    assert [(marked.mark, marked.rows) for marked in found.marked] == [("mixed-types", (1,))]


def test_messages_that_differ_in_their_keys_are_judged() -> None:
    """Messages that come as JSON, since some have a key that others lack, are judged as any other."""
    conversations = [
        [user(), assistant(None, tool_calls=[CALL]), {"role": "tool", "content": "2", "name": "add"}, assistant()],
        [user(), user("b"), assistant("")],
        [{"role": "human", "content": "a"}, assistant("b\ufffd")],
        [user()],
        [user(), assistant()],
        [user(), assistant()],
    ]
    rows = FakeRows.of(
        [{"messages": [json.dumps(turn) for turn in turns]} for turns in conversations],
        {"messages": ListOf(Scalar("json"))},
    )
    found = scan_frame(rows)

    assert {(marked.mark, marked.detail, marked.rows) for marked in found.marked} == {
        ("role-order", "two user turns in a row", (1,)),
        ("empty-turn", "blank", (1,)),
        ("unknown-role", "human", (2,)),
        ("encoding", "U+FFFD, where a character was lost", (2,)),
        ("no-assistant", "", (3,)),
        ("duplicate", "", (5,)),
    }


def test_no_rows_and_broken_files_are_told() -> None:
    """No rows at all is an error; so is each place that cannot be read, with how many more there are."""
    assert codes(Scan(rows=0)) == {"DAT202": Severity.ERROR}
    broken = tuple(UnreadablePart("data.jsonl", "not JSON", line=line) for line in (7, 9, 11, 13, 15))
    told = [finding.message for finding in findings(Scan(rows=90, broken=broken))]
    assert told == [
        "data.jsonl, line 7: not JSON",
        "data.jsonl, line 9: not JSON",
        "data.jsonl, line 11: not JSON (3 of 5 such places are shown)",
    ]


def test_fewer_rows_than_asked_are_told() -> None:
    """A number of rows that is not there is told, and so is a part of a single row that is to be held out."""
    assert codes(Scan(rows=90), dataset={"path": "data", "rows": 100}) == {"DAT205": Severity.WARNING}
    assert codes(Scan(rows=1), dataset={"path": "data", "eval_fraction": 0.5}) == {"DAT205": Severity.ERROR}


def test_no_assistant_is_an_error_where_it_raises() -> None:
    """With `assistant_only_loss`, a row without an assistant's turn stops the job."""
    found = scan([good("messages", 0), {"messages": [user()]}], "sft")

    assert codes(found)["DAT211"] is Severity.WARNING
    assert codes(found, train={"assistant_only_loss": True})["DAT211"] is Severity.ERROR


ASKED, REPLY, OTHER = (
    {"role": role, "content": text} for role, text in (("user", "q"), ("assistant", "a"), ("user", "x"))
)
PAIR = {"chosen": [ASKED, REPLY], "rejected": [ASKED, {"role": "assistant", "content": "b"}]}


@pytest.mark.parametrize(
    ("bad", "raises"),
    [
        ({"chosen": [ASKED]}, True),
        ({"rejected": [ASKED]}, True),
        ({"chosen": [ASKED], "rejected": [ASKED]}, True),
        ({"chosen": [OTHER]}, True),
        ({"chosen": [ASKED, OTHER]}, False),
        ({"chosen": [ASKED, REPLY, OTHER], "rejected": [ASKED, REPLY]}, False),
        ({"chosen": [ASKED], "prompt": "q"}, True),
        ({"chosen": [ASKED], "prompt": "x"}, False),
        ({"chosen": [REPLY], "rejected": [REPLY], "prompt": [ASKED]}, False),
    ],
)
def test_pairs_that_leave_no_prompt_are_errors_where_trl_raises(bad: Row, *, raises: bool) -> None:
    """TRL 1.16 raises in dpo and kto where no message is left for the prompt, also if `prompt` is text and is left out."""
    prompt = {name: bad[name] for name in ("prompt",) if name in bad}
    rows = [{**PAIR, **prompt}, {**PAIR, **bad}, {**PAIR, **prompt}]
    for method in ("dpo", "kto"):
        assert (codes(scan(rows, method), method).get("DAT217") is Severity.ERROR) == raises, method
    single = bad.get("chosen") != [OTHER]
    assert ("DAT217" not in codes(scan(rows, "reward"), "reward")) == (single or not raises)
