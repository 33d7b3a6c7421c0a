"""What TRL would take a dataset for, told by types: the tables that need no trainer to try them."""

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.catalog.formats import (
    DEFAULTS,
    ColumnSettings,
    form_of,
    judge,
    read_columns,
    recognise,
    settle,
    types_of_rows,
)
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import NULL, STRING, ListOf, Scalar, Struct, Type
from holdfast.core.rows.shape import Shape
from tests.helpers.foreign_data import FOREIGN
from tests.helpers.shapes_of_data import CALLS, DATA

MESSAGES = ListOf(Struct({"role": STRING, "content": STRING}))
TYPES: dict[str, tuple[str, ...]] = {
    "text": ("language modeling",),
    "messages": ("language modeling",),
    "conversations by from": ("language modeling",),
    "conversations by role": (),
    "messages as JSON": (),
    "tokens": ("language modeling",),
    "body": (),
    "prompt": ("prompt-only",),
    "prompt of messages": ("prompt-only",),
    "prompt and completion": ("prompt-completion", "prompt-only"),
    "pair": ("preference",),
    "pair of messages": ("preference",),
    "pair with prompt": ("preference", "prompt-only"),
    "pair of tokens": ("preference",),
    "label": ("unpaired preference", "prompt-completion", "prompt-only"),
    "label as text": ("prompt-completion", "prompt-only"),
    "steps": ("stepwise supervision",),
    "prompt and completions": (),
    "instruction and output": (),
    "null text": (),
}
FORMATS = {
    "text": "standard",
    "messages": "conversational",
    "conversations by from": "conversational",
    "pair of messages": "conversational",
    "pair of messages with prompt": "unknown",
    "prompt by from": "conversational",
    "tokens": "unknown",
}


def shape_of(row: Mapping[str, Any]) -> Shape:
    return recognise(types_of_rows([row]), [row])


@pytest.mark.parametrize("name", TYPES)
def test_types(name: str) -> None:
    """A dataset has the types that TRL's documentation gives its columns, by what they hold and not by name alone."""
    assert shape_of(DATA[name]).types == TYPES[name]


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    """Messages are told from texts."""
    assert shape_of(DATA[name]).format == FORMATS[name]


def test_tools() -> None:
    """Tools are found in a column of their own, in calls, and in answers of tools; columns of nulls are none."""
    assert shape_of(DATA["messages with tools"]).tools
    assert shape_of({"messages": CALLS}).tools
    assert shape_of({"messages": [{"role": "tool", "content": "2"}]}).tools
    assert not shape_of({"messages": [{"role": "user", "content": "2", "tool_calls": None}]}).tools


def test_images() -> None:
    """Images are found by type, in whatever column, and by the names that trainers go by."""
    types: dict[str, Type] = {
        "photo": Scalar("image"),
        "images": STRING,
        "text": STRING,
        "all": ListOf(Scalar("image")),
    }

    assert recognise(types).images == ("photo", "images", "all")


def test_implicit_prompt() -> None:
    """Two answers hold their prompt if they begin alike; without rows, nobody can say that they do not."""
    types = {"chosen": STRING, "rejected": STRING}

    assert recognise(types).implicit_prompt
    assert recognise(types, [{"chosen": "A: b", "rejected": "A: c"}]).implicit_prompt
    assert not recognise(types, [{"chosen": "b", "rejected": "c"}]).implicit_prompt
    assert not recognise(types | {"prompt": STRING}).implicit_prompt


def test_pairs_without_prompt() -> None:
    """Pairs that begin differently train, and learn nothing of a prompt that has another name: that is said."""
    rows = FOREIGN["orca-dpo"]
    columns = types_of_rows(rows)

    told = judge("dpo", columns, recognise(columns, rows))

    assert told.ready
    assert "no prompt" in told.caveat


def _caveat(method: str, *rows: Mapping[str, Any]) -> str:
    columns = types_of_rows(rows)
    return judge(method, columns, recognise(columns, rows)).caveat


ASKED = "What is the capital of France?"
PAIR = {"chosen": "The capital is Paris.", "rejected": "The capital is Rome."}
PROMPTED = {"prompt": ASKED, "completion": "Paris."}
BRIEF = {"system": "Answer in one word."}


@pytest.mark.parametrize("name", ["question", "Instruction", "query", "input", "context", "Frage", "system_prompt"])
@pytest.mark.parametrize("method", ["dpo", "reward", "kto"])
def test_a_question_beside_a_pair_is_not_shown(name: str, method: str) -> None:
    """Answers that begin alike have a prompt for TRL, made of their first words; their question is in no token."""
    assert f"not shown `{name}`" in _caveat(method, {name: ASKED, **PAIR})


@pytest.mark.parametrize(
    ("method", "row", "unshown"),
    [
        ("sft", {**BRIEF, **PROMPTED}, "system"),
        ("sft", {"context": "France is a country.", **PROMPTED}, "context"),
        ("sft", {"question": ASKED, "text": "Paris."}, "question"),
        ("sft", {**BRIEF, "messages": [{"role": "user", "content": ASKED}]}, "system"),
        ("dpo", {**BRIEF, "prompt": ASKED, **PAIR}, "system"),
        ("kto", {**BRIEF, **PROMPTED, "label": True}, "system"),
        ("grpo", {**BRIEF, "prompt": ASKED}, "system"),
    ],
)
def test_what_belongs_to_a_prompt_and_is_not_shown(method: str, row: Mapping[str, Any], unshown: str) -> None:
    """System messages, contexts and questions beside the columns that are read are lost: that is said."""
    assert f"not shown `{unshown}`" in _caveat(method, row)


@pytest.mark.parametrize(
    ("method", "row"),
    [
        ("dpo", {"question": ASKED, "chosen": f"Q: {ASKED}\nA: Paris.", "rejected": f"Q: {ASKED}\nA: Rome."}),
        ("dpo", {"question": ASKED, "prompt": [{"role": "user", "content": f"{ASKED}  "}], **PAIR}),
        ("dpo", {"source": "a large forum", **PAIR}),
        ("dpo", {"query": "geography", **PAIR}),
        ("sft", {"instruction": ASKED, "input": "", "text": f"### Question:\n{ASKED.upper()}\n### Answer:\nParis."}),
        ("sft", {**BRIEF, "messages": [{"role": "system", "content": BRIEF["system"]}]}),
        ("sft", {"context": "daily life", "messages": [{"role": "user", "content": ASKED}]}),
        ("sft", {"user": "anna the first", "text": "Paris is nice."}),
        ("grpo", {"context": "France is a country.", "prompt": ASKED, "answer": "Paris"}),
    ],
)
def test_what_is_shown_or_no_part_of_a_prompt(method: str, row: Mapping[str, Any]) -> None:
    """Words that stand in a column that is read, topics, names of people, and what rewards get are not missed."""
    assert "not shown" not in _caveat(method, row)


def test_roles_of_sharegpt() -> None:
    """TRL renames the keys of ShareGPT's messages and not their roles, and a template gets `human`: that is said."""
    rows = FOREIGN["sharegpt"]
    columns = types_of_rows(rows)
    shape = recognise(columns, rows)

    assert set(shape.roles) == {"human", "gpt", "system"}
    assert "`human` and `gpt`" in judge("sft", columns, shape).caveat


def test_contents_of_parts_without_text() -> None:
    """LLaMA-Factory's parts have `value` where templates look for `text`: they would write nothing, or the parts themselves."""
    parts = [{"type": "text", "value": "a"}]
    columns = types_of_rows(
        [{"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": parts}]}]
    )
    usual = types_of_rows([{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}])

    assert "parts without `text`" in judge("sft", columns, recognise(columns)).caveat
    assert not judge("sft", usual, recognise(usual)).caveat


def test_answers_that_are_bad() -> None:
    """Who trains sft on answers with labels is told that it learns the bad ones as well."""
    columns = types_of_rows([DATA["label"]])

    assert "`label`" in judge("sft", columns, recognise(columns)).caveat
    assert not judge("kto", columns, recognise(columns)).caveat
    spoken = types_of_rows(FOREIGN["judged conversations"])
    assert "`label`" in judge("sft", spoken, recognise(spoken)).caveat


@pytest.mark.parametrize("method", list(Method))
def test_nothing_is_held_against_what_nobody_knows(method: Method) -> None:
    """Columns whose types nobody knows are taken as they should be, for every method."""
    columns: dict[str, Type | None] = dict.fromkeys(("prompt", "completion", "chosen", "rejected", "label", "messages"))

    assert judge(method, columns, recognise(columns)).ready


@pytest.mark.parametrize("images", ["image", "images"])
def test_images_and_a_model_of_texts(images: str) -> None:
    """A column by the name of an image is held against a model that is known to take none, and no other."""
    columns: dict[str, Type | None] = {"messages": MESSAGES, images: STRING}
    shape = recognise(columns)

    assert judge("sft", columns, shape, ColumnSettings(vision=None)).ready
    assert judge("sft", columns, shape, ColumnSettings(vision=True)).ready
    assert images in judge("sft", columns, shape, ColumnSettings(vision=False)).because


def test_types_come_from_rows() -> None:
    """A column that nobody knows the type of, or whose rows differ, is what its rows show."""
    rows = [{"messages": DATA["messages"]["messages"]}]

    assert form_of(settle({"messages": None}, rows)["messages"]) == "chat"
    assert form_of(settle({"messages": Scalar("json")}, rows)["messages"]) == "chat"
    assert settle({"messages": STRING}, rows) == {"messages": STRING}
    assert settle({"messages": None}, samples=()) == {"messages": None}


def test_types_of_rows() -> None:
    """Rows that lack a key or hold a null have the type of those that do not; rows that differ have none."""
    rows: list[dict[str, Any]] = [{"a": 1, "b": None, "c": "x"}, {"a": 2.5, "b": [], "c": 3, "d": {"e": True}}]

    assert types_of_rows(rows) == {
        "a": Scalar("float"),
        "b": ListOf(NULL),
        "c": Scalar("json"),
        "d": Struct({"e": Scalar("boolean")}),
    }


@pytest.mark.parametrize(
    ("method", "name", "read"),
    [
        ("sft", "messages and more", ("messages",)),
        ("sft", "text and messages", ("messages",)),
        ("sft", "conversations by role and text", ("text",)),
        ("sft", "conversations by from and messages", ("conversations",)),
        ("sft", "prompt, completion, text", ("prompt", "completion")),
        ("sft", "messages with tools", ("messages", "tools")),
        ("sft", "tokens and labels", ("input_ids", "labels")),
        ("dpo", "pair with scores", ("chosen", "rejected")),
        ("reward", "pair with margin", ("prompt", "chosen", "rejected", "margin")),
        ("reward", "pair of tokens", ("chosen_ids", "rejected_ids")),
        ("kto", "label", ("prompt", "completion", "label")),
        ("kto", "pair with prompt", ("prompt", "chosen", "rejected")),
        ("grpo", "prompt and solution", ("prompt",)),
    ],
)
def test_read_columns(method: str, name: str, read: tuple[str, ...]) -> None:
    """The columns that a trainer reads are those in which a bad row would be met."""
    assert read_columns(method, types_of_rows([DATA[name]]), settings=DEFAULTS) == read


def test_read_solution() -> None:
    """TRL's own reward for answers reads the solution."""
    columns = types_of_rows([DATA["prompt and solution"]])

    assert read_columns("grpo", columns, ColumnSettings(rewards=("accuracy_reward",))) == ("prompt", "solution")
