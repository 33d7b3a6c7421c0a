"""Judging conversations: lists of messages, by role and content or as ShareGPT spells them.

A batch's lists are laid out flat, a line for each message with the number of its row, so that neighbours are compared by
shifting a column.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from holdfast.catalog.formats import types_of_rows
from holdfast.catalog.formats.words import CALLS, ROLES, THOUGHTS
from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type
from holdfast.core.rows.unpacking import unpack
from holdfast.engine.scan.reads import Reads, TextPart
from holdfast.engine.scan.tally import DamageSign, DamageTally
from holdfast.engine.scan.wording import damaged, encoding_signs, is_blank

MEANT: Final = {
    "developer": "system", "human": "user", "User": "user", "Human": "user", "USER": "user", "prompter": "user",
    "gpt": "assistant", "model": "assistant", "bot": "assistant", "chatgpt": "assistant", "bing": "assistant",
    "bard": "assistant", "Assistant": "assistant", "ASSISTANT": "assistant", "function_call": "assistant",
    "function": "tool", "observation": "tool", "ipython": "tool", "tool_response": "tool", "System": "system",
}  # fmt: skip
"""What other roles stand for, so that their order can be judged."""

USUAL: Final = {"string": "", "json": "", "null": ""}
ODD_SCALARS: Final = {**USUAL, "integer": "a number", "float": "a number", "boolean": "true or false"}
ODD_LISTS: Final = {**USUAL, "string": "a list of texts"}
LIKE_JSON: Final = r"^\s*(?:[\[{]|(?:-?\d[\d.eE+-]*|true|false)\s*$)"
"""Content that may be JSON and is no text then."""
# Messages whose keys differ: `datasets` keeps them as JSON.
JSON: Final = Scalar("json")
ENCODED: Final = ListOf(JSON)
WRITTEN_ARGUMENTS: Final = r'(?:^\[|"function"\s*:)\s*\{[^{}]*"arguments"\s*:\s*"[^"]'
"""In the JSON of a message's calls: arguments that are text, and no object."""

LATE_SYSTEM: Final = "a system turn that is not the first"
TWO_USERS: Final = "two user turns in a row"
TWO_ASSISTANTS: Final = "two assistant turns in a row"
ASSISTANT_FIRST: Final = "the assistant speaks first"
LONELY_TOOL: Final = "a tool answers where nothing called it"
NULL_ANSWER: Final = "null answer"
ANSWERED_PROMPT: Final = "the prompt ends with the assistant"

_ROLE: Final = pl.col("role")
_FIRST: Final = pl.col("row").ne_missing(pl.col("row").shift(1))
_LAST: Final = pl.col("row").ne_missing(pl.col("row").shift(-1))
_BEFORE: Final = _ROLE.shift(1)


def judge_turns(numbers: pl.Series, lists: pl.Series, column: str, reads: Reads, tally: DamageTally) -> None:
    """Judge the conversations of one batch.

    Args:
        numbers: Number of each row.
        lists: The conversations, one for each; null where there is none.
        column: Name of their column.
        reads: What the trainer reads.
        tally: Takes what is wrong.
    """
    kind, place = reads.types[column], reads.place(column)
    turns = lay_out(numbers, lists, kind)
    if turns.is_empty():
        return
    named = turns.with_columns(pl.col("name").replace(MEANT).alias("role"))
    tally.judge(named, named.get_column("row"), column, [*_order(place), *_empty(named)])
    _judge_contents(turns, column, kind, tally)
    _judge_names(named, column, tally)
    _judge_presence(named, column, place, tally)
    _judge_calls(named, column, kind, tally)
    _judge_words(named, column, tally)


def lay_out(numbers: pl.Series, lists: pl.Series, kind: Type) -> pl.DataFrame:
    """Return a line for each message: `row`, `name` of its role, `content`, and what else of its fields matters."""
    lines = pl.DataFrame({"row": numbers, "turn": lists}).filter(pl.col("turn").list.len() > 0).explode("turn")
    turn = pl.col("turn")
    if kind == ENCODED:
        fields = {name: turn.str.json_path_match(f"$.{name}") for name in _encoded_fields()}
        found = lines.select("row", "turn", **fields)
        return found.select(
            "row",
            "turn",
            pl.coalesce("role", "from").alias("name"),
            pl.coalesce("content", "value").alias("content"),
            *CALLS,
            *THOUGHTS,
        )
    has = fields_of(kind)
    spelled = {"name": "role" if "role" in has else "from", "content": "content" if "content" in has else "value"}
    spelled |= {name: name for name in (*CALLS, *THOUGHTS)}
    return lines.select(
        "row", *(turn.struct.field(name).alias(alias) for alias, name in spelled.items() if name in has)
    ).with_columns(pl.col("name").cast(pl.String))


def _encoded_fields() -> tuple[str, ...]:
    return ("role", "from", "content", "value", *CALLS, *THOUGHTS)


def fields_of(kind: Type) -> Mapping[str, Type]:
    """Return the fields of a list's messages; none if they are JSON."""
    return kind.of.fields if isinstance(kind, ListOf) and isinstance(kind.of, Struct) else {}


def _order(place: TextPart) -> Iterator[DamageSign]:
    """Yield the signs of roles out of order. An answer goes on where its prompt ended."""
    after = ~_FIRST
    yield DamageSign("role-order", (_ROLE == "system") & (after if place != "answer" else True), LATE_SYSTEM)
    yield DamageSign("role-order", (_ROLE == "user") & (_BEFORE == "user") & after, TWO_USERS)
    yield DamageSign("role-order", (_ROLE == "assistant") & (_BEFORE == "assistant") & after, TWO_ASSISTANTS)
    uncalled = after & _BEFORE.is_in(("system", "user"))
    yield DamageSign(
        "role-order", (_ROLE == "tool") & (uncalled if place == "answer" else uncalled | _FIRST), LONELY_TOOL
    )
    if place == "prompt":
        yield DamageSign("role-order", (_ROLE == "assistant") & _LAST, ANSWERED_PROMPT)


def _empty(turns: pl.DataFrame) -> Iterator[DamageSign]:
    """Yield the signs of turns that say nothing. A blank system turn does no harm, one without any text may."""
    if "content" not in turns.columns:
        return
    content = turns.get_column("content")
    excused = [_speaks(turns.get_column(name)) for name in (*CALLS, *THOUGHTS) if name in turns.columns]
    silent = ~pl.any_horizontal(excused) if excused else pl.lit(value=True)
    null, answers = pl.col("content").is_null() & silent, _ROLE.eq_missing(pl.lit("assistant"))
    yield DamageSign("empty-turn", null & answers, NULL_ANSWER)
    yield DamageSign("empty-turn", null & ~answers, "null")
    if content.dtype == pl.String:
        blank = is_blank(pl.col("content"))
    elif content.dtype == pl.List:
        blank = pl.col("content").list.len() == 0
    else:
        return
    yield DamageSign("empty-turn", blank & (_ROLE != "system") & silent, "blank")


def _judge_contents(turns: pl.DataFrame, column: str, kind: Type, tally: DamageTally) -> None:
    """Look for messages whose content is neither a text nor a list of parts that say their type."""
    has = fields_of(kind)
    content_type = has.get("content", has.get("value"))
    if kind == ENCODED or content_type == JSON:
        for odd, rows in _odd_json(turns, whole=kind == ENCODED).items():
            tally.add("wrong-type", column, pl.Series(rows), f"says {odd}")
    elif content_type is not None and (odd := _odd_type(content_type)):
        spoken = turns.filter(pl.col("content").is_not_null())
        tally.add("wrong-type", column, spoken.get_column("row"), f"says {odd}")


def _odd_json(turns: pl.DataFrame, *, whole: bool) -> Mapping[str, list[int]]:
    """Return the rows with content of each odd type, where contents are JSON, or `whole` messages are."""
    likely = turns.filter(pl.col("content").str.contains(LIKE_JSON))
    rows: dict[str, list[int]] = {}
    for row, text in likely.select("row", "turn" if whole else "content").iter_rows():
        value = unpack(text, kind=JSON)
        content = _content_of(value) if whole else value
        if odd := _odd_type(types_of_rows([{"content": content}])["content"]):
            rows.setdefault(odd, []).append(row)
    return rows


def _content_of(turn: Any) -> Any:
    return turn.get("content", turn.get("value")) if isinstance(turn, dict) else None


def _odd_type(content_type: Type) -> str:
    """Return what a content of a type is called that no template for text is sure to write; empty for texts and typed parts."""
    match content_type:
        case Scalar(word):
            return ODD_SCALARS.get(word, word)
        case Struct():
            return "an object"
        case ListOf(Scalar(word)):
            return ODD_LISTS.get(word, f"a list of {word}")
        case ListOf(Struct(fields)):
            return "" if "type" in fields else "a list of parts without a `type`"
        case ListOf(of):
            return f"a list of {of}"


def _speaks(field: pl.Series) -> pl.Expr:
    """Return the expression that is true if another field of a turn is not empty."""
    there = pl.col(field.name)
    if field.dtype == pl.List:
        return there.list.len().fill_null(0) > 0
    return there.is_not_null() & (there != "") if field.dtype == pl.String else there.is_not_null()


def _judge_names(turns: pl.DataFrame, column: str, tally: DamageTally) -> None:
    strange = turns.filter(~pl.col("name").is_in(ROLES, nulls_equal=True).fill_null(value=False))
    for (name,), lines in strange.group_by("name", maintain_order=True):
        tally.add("unknown-role", column, lines.get_column("row"), "null" if name is None else str(name))


def _judge_presence(turns: pl.DataFrame, column: str, place: TextPart, tally: DamageTally) -> None:
    """Look at whole conversations: who speaks in them, and who last."""
    row = turns.get_column("row")
    role = turns.get_column("role").fill_null("")
    roles = row.filter(row.ne_missing(row.shift(1)))
    answered = row.filter(role == "assistant").unique()
    questions = row.filter(role == "user").unique()
    if place != "prompt":
        tally.add("no-assistant", column, roles.filter(~roles.is_in(answered.implode())))
        last = row.ne_missing(row.shift(-1))
        unanswered = row.filter(last & (role != "assistant"))
        tally.add("last-turn", column, unanswered.filter(unanswered.is_in(answered.implode())))
    if place != "answer":
        tally.add("no-user", column, roles.filter(~roles.is_in(questions.implode())))
        opening = row.ne_missing(row.shift(1)) | (role.shift(1) == "system")
        early = row.filter(opening & (role == "assistant"))
        tally.add("role-order", column, early.filter(early.is_in(questions.implode())), ASSISTANT_FIRST)


def _judge_calls(turns: pl.DataFrame, column: str, kind: Type, tally: DamageTally) -> None:
    """Look at calls of tools. Those of a type that differs by row are let through, but for their arguments."""
    call = fields_of(kind).get("tool_calls")
    made = pl.col("tool_calls")
    signs: list[DamageSign] = []
    if kind == ENCODED:
        signs.append(DamageSign("malformed-calls", made.str.contains(WRITTEN_ARGUMENTS), "arguments"))
    match call:
        case Scalar("string"):
            signs.append(DamageSign("malformed-calls", made.is_not_null() & (made != ""), "text"))
        case ListOf(Scalar("string")):
            signs.append(DamageSign("malformed-calls", made.list.len() > 0, "text"))
        case ListOf(Struct(fields)):
            signs += _signs_of_calls(made, fields)
        case _:
            pass
    if signs:
        tally.judge(turns, turns.get_column("row"), column, signs)


def _signs_of_calls(made: pl.Expr, fields: Mapping[str, Type]) -> Iterator[DamageSign]:
    """Yield the signs of calls without a name, and of arguments that are text."""
    call, inner = pl.element(), fields
    function = fields.get("function")
    if isinstance(function, Struct):
        call, inner = call.struct.field("function"), function.fields
    if "name" in inner:
        nameless = call.struct.field("name").is_null() | (call.struct.field("name").cast(pl.String) == "")
        yield DamageSign("malformed-calls", made.list.eval(nameless).list.any(), "no name")
    if inner.get("arguments") == Scalar("string"):
        yield DamageSign(
            "malformed-calls", made.list.eval(call.struct.field("arguments") != "").list.any(), "arguments"
        )


def _judge_words(turns: pl.DataFrame, column: str, tally: DamageTally) -> None:
    if "content" not in turns.columns:
        return
    words = turns.select("row", text="content")
    dtype = words.schema["text"]
    if isinstance(dtype, pl.List):
        parts = words.explode("text").drop_nulls()
        if not isinstance(dtype.inner, pl.Struct) or "text" not in [part.name for part in dtype.inner.fields]:
            return
        words = parts.select("row", text=pl.col("text").struct.field("text"))
    if words.schema["text"] == pl.String:
        suspects = damaged(words)
        tally.judge(suspects, suspects.get_column("row"), column, encoding_signs())
