"""Models and rows that are known to be good, to stand in place of a script's own: then what still fails is its code.

Source: `known_good.toml`, each entry tried with the real trainers by `tests/engine/rehearse/test_rehearsal_isolate.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, Final, Literal

from holdfast.catalog.tables import load_table

KnownRowKind = Literal["text", "turns", "truth"]
PERSON: Final = ("role", "content")
HUMAN: Final = ("from", "value")
"""Keys of a turn as ShareGPT has them."""
ROLES: Final = {PERSON: ("user", "assistant"), HUMAN: ("human", "gpt")}
WHOLE: Final = "whole"
BASE: Final = 20
"""Numbers that are added are below this, so that their sums are short."""


@dataclass(frozen=True, slots=True)
class KnownGood:
    """Something that is known to be good.

    Attributes:
        name: Its own.
        good: What makes it good.
        tried: When.
        releases: With which releases.
        method: What can be trained on it; empty for a model.
        columns: What each column holds, of rows.
    """

    name: str
    good: str
    tried: date
    releases: Mapping[str, str]
    method: str = ""
    columns: Mapping[str, KnownRowKind] = field(default_factory=dict[str, KnownRowKind])


@cache
def load_known_rows() -> Mapping[str, KnownGood]:
    """Return the datasets by name.

    >>> dict(load_known_rows()["kto-standard"].columns)
    {'prompt': 'text', 'completion': 'text', 'label': 'truth'}
    """
    return {name: _known_good(name, row) for name, row in load_table("known_good")["rows"].items()}


@cache
def load_known_models() -> Mapping[str, KnownGood]:
    """Return the models by name.

    >>> [*load_known_models()]
    ['qwen2-bytes']
    """
    return {name: _known_good(name, row) for name, row in load_table("known_good")["model"].items()}


def columns_of(method: str, *, turns: bool) -> Mapping[str, KnownRowKind]:
    """Return the columns that a method's trainer takes.

    Args:
        method: By its name: `dpo`.
        turns: Whether texts are messages.

    >>> dict(columns_of("dpo", turns=True))
    {'prompt': 'turns', 'chosen': 'turns', 'rejected': 'turns'}
    """
    return load_known_rows()[f"{method}-{'conversational' if turns else 'standard'}"].columns


def good_text(column: str, number: int) -> str:
    """Return the text that a column of this name has in a row.

    >>> good_text("question", 3), good_text("Solution", 3), good_text("blurb", 3)
    ('What is 3 plus 4?', '7', 'What is 3 plus 4? 3 plus 4 is 7.')
    """
    return _filled(part_of(column), number)


def good_truth(number: int) -> bool:
    """Return a row's label, of a column that holds yes or no."""
    return number % 2 == 0


def good_turns(
    column: str, number: int, keys: tuple[str, str] = PERSON, *, alone: bool = False
) -> list[dict[str, str]]:
    """Return the messages that a column of this name has in a row: a prompt, an answer, or both.

    Args:
        column: Its name.
        number: Of the row.
        keys: What a turn calls its speaker and its text.
        alone: Whether no other column has the prompt: then answers have it too.

    >>> good_turns("rejected", 0)
    [{'role': 'assistant', 'content': 'I cannot tell what 0 and 1 are.'}]
    >>> [each["from"] for each in good_turns("conversations", 0, HUMAN)]
    ['human', 'gpt']
    """
    speaker, text = keys
    user, assistant = ROLES.get(keys, ROLES[PERSON])
    part = part_of(column)
    question = {speaker: user, text: _filled("question", number)}
    if part == "question":
        return [question]
    if part in ("answer", "wrong"):
        answer = {speaker: assistant, text: _filled(part, number)}
        return [question, answer] if alone else [answer]
    return [question, {speaker: assistant, text: _filled("answer", number)}]


def part_of(column: str) -> str:
    """Return which part of a row stands in a column of this name."""
    parts: Mapping[str, list[str]] = load_table("known_good")["parts"]
    return next((part for part, names in parts.items() if column.lower() in names), WHOLE)


def good_value(column: str, kind: KnownRowKind, number: int) -> Any:
    """Return a sample value for a column of one of these kinds."""
    if kind == "truth":
        return good_truth(number)
    return good_turns(column, number) if kind == "turns" else good_text(column, number)


def _filled(part: str, number: int) -> str:
    first, second = number % BASE, number % BASE + 1 + number // BASE
    texts: Mapping[str, str] = load_table("known_good")["text"]
    return texts.get(part, texts[WHOLE]).format(a=first, b=second, sum=first + second)


def _known_good(name: str, record: Mapping[str, Any]) -> KnownGood:
    method, columns = record.get("method", ""), record.get("columns", {})
    return KnownGood(name, record["good"], record["tried"], record["with"], method, columns)
