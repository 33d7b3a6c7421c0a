"""What a trainer reads of each row, and how that is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.catalog.formats import DEFAULTS, Form, forms_of, read_columns
from holdfast.catalog.formats.settings import ColumnSettings
from holdfast.catalog.formats.words import ANSWERS
from holdfast.core.columns import NULL, ListOf, Scalar, Type
from holdfast.core.methods import ONLINE
from holdfast.core.shape import DatasetType, Shape

TextPart = Literal["whole", "prompt", "answer"]
"""Which part of a conversation a column holds."""

# The method that reads a dataset of a type, where none is named; no trainer of TRL 1.16 reads stepwise supervision.
READERS: Final[Mapping[DatasetType, str]] = {
    "language modeling": "sft",
    "prompt-completion": "sft",
    "preference": "dpo",
    "unpaired preference": "kto",
    "prompt-only": "grpo",
}
STEPS: Final = ("completions", "labels")
# Where people put what a trainer is to read, for data that none reads as it is.
LIKELY: Final = ("messages", "conversations", "prompt", "completion", "chosen", "rejected", "text")
# Judged by rules of their own, or by none: tokens need no eye for texts.
ASIDE: Final = frozenset(
    ("tools", "margin", "label", "input_ids", "labels", "chosen_ids", "rejected_ids", "chosen_input_ids", "rejected_input_ids")
)  # fmt: skip
TEXT: Final[frozenset[Form]] = frozenset(("text",))
CHATS: Final[frozenset[Form]] = frozenset(("chat", "shared", "silent"))
# Not text and not messages, and nothing that a trainer could read where those stand.
WRONG: Final[frozenset[Form]] = frozenset(
    ("number", "flag", "numbers", "flags", "texts", "turn", "image", "images", "other")
)
JSON: Final = Scalar("json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The columns that a trainer reads, by how they are stored.

    Attributes:
        content: All that hold words, in the order in which they are read.
        texts: Those that are text.
        turns: Those that are lists of messages.
        encoded: Of those, the ones whose messages are JSON, since they differ in their keys.
        wrong: Those that are neither, with what they are instead.
        mixed: Those whose rows differ in type.
        label: Whether there is one label a row, as unpaired preference has it.
        steps: Whether there are steps with a label each.
        pair: Whether there is a chosen and a rejected answer.
        prompted: Whether the prompt has a column of its own.
        tools: Whether there is a column of tools that the trainer reads.
        images: Columns of images.
        types: Type of each column.
    """

    content: tuple[str, ...]
    texts: tuple[str, ...]
    turns: tuple[str, ...]
    encoded: frozenset[str]
    wrong: Mapping[str, str]
    mixed: tuple[str, ...]
    label: bool
    steps: bool
    pair: bool
    prompted: bool
    tools: bool
    images: tuple[str, ...]
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])

    @property
    def all(self) -> tuple[str, ...]:
        """Every column whose value makes a difference to the trainer."""
        beside = {"label": self.label, "tools": self.tools, **dict.fromkeys(STEPS, self.steps)}
        more = [*(name for name, read in beside.items() if read), *self.images]
        return tuple(dict.fromkeys((*self.content, *more)))

    def place(self, column: str) -> TextPart:
        """Return which part of a conversation a column holds."""
        if column == "prompt":
            return "prompt"
        return "answer" if self.prompted and column in ANSWERS else "whole"


def what_is_read(
    columns: Mapping[str, Type], shape: Shape, method: str | None = None, settings: ColumnSettings = DEFAULTS
) -> Reads:
    """Return the columns that a method's trainer reads; without a method, those of the trainers for this type of data."""
    forms = forms_of(columns)
    reader = method or next((READERS[kind] for kind in shape.types if kind in READERS), None)
    steps = method is None and set(STEPS) <= columns.keys() and "stepwise supervision" in shape.types
    content = _content(reader, columns, settings)
    words = tuple(name for name in content if not (steps and name in STEPS))
    return Reads(
        content=words,
        texts=tuple(name for name in words if forms[name] in TEXT),
        turns=tuple(name for name in words if forms[name] in CHATS or columns[name] == ListOf(JSON)),
        encoded=frozenset(name for name in words if columns[name] == ListOf(JSON)),
        wrong={name: str(columns[name]) for name in words if forms[name] in WRONG},
        mixed=tuple(name for name in words if columns[name] == JSON),
        label=reader == "kto" and "label" in columns and "completion" in words,
        steps=steps,
        pair={"chosen", "rejected"} <= set(words),
        prompted="prompt" in words,
        tools="tools" in columns and reader not in ONLINE,
        images=tuple(name for name in shape.images if name in columns and columns[name] != NULL and name not in words),
        types=columns,
    )


def _content(reader: str | None, columns: Mapping[str, Type], settings: ColumnSettings) -> tuple[str, ...]:
    """Return the columns of words that are read, or those that look as if they were to be."""
    read = read_columns(reader, columns, settings) if reader else ()
    if ids_alone(read):
        return ()
    words = _words(read)
    return words or _words(name for name in (*LIKELY, settings.text_field) if name in columns)


def ids_alone(columns: Iterable[str]) -> bool:
    """True if a trainer finds its tokens made already, and reads no words."""
    return any(name in ("input_ids", "chosen_ids", "chosen_input_ids") for name in columns)


def _words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name not in ASIDE and name != "solution"))
