"""What a trainer reads of each row, and how that is stored."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.catalog.formats import Form, form_of, read_columns
from holdfast.catalog.formats.settings import ColumnSettings
from holdfast.catalog.formats.words import ANSWERS
from holdfast.core.job.methods import ONLINE
from holdfast.core.rows.columns import NULL, ListOf, Scalar, Type
from holdfast.core.rows.shape import DatasetType, Shape

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


@dataclass(frozen=True, slots=True)
class Reads:
    """The columns that a trainer reads.

    Attributes:
        content: All that hold words, in the order in which they are read.
        types: Type of each column of the data.
        reader: Method of the trainer; None if no trainer reads data of this type.
        steps: Whether there are steps with a label each.
        images: Columns of images.
    """

    content: tuple[str, ...]
    types: Mapping[str, Type]
    reader: str | None
    steps: bool
    images: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column whose value makes a difference to the trainer."""
        beside = {"label": self.label, "tools": self.tools, **dict.fromkeys(STEPS, self.steps)}
        more = [*(name for name, read in beside.items() if read), *self.images]
        return tuple(dict.fromkeys((*self.content, *more)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of words that are text."""
        return self._of_form(TEXT)

    @property
    def turns(self) -> tuple[str, ...]:
        """The columns of words that are lists of messages."""
        chats = {*self._of_form(CHATS), *self.encoded}
        return tuple(name for name in self.content if name in chats)

    @property
    def encoded(self) -> frozenset[str]:
        """The columns of messages that are JSON, since the messages differ in their keys."""
        return frozenset(name for name in self.content if self.types[name] == ListOf(JSON))

    @property
    def wrong(self) -> Mapping[str, str]:
        """The columns of words that are neither text nor messages, with what they are instead."""
        return {name: str(self.types[name]) for name in self._of_form(WRONG)}

    @property
    def mixed(self) -> tuple[str, ...]:
        """The columns of words whose rows differ in type."""
        return tuple(name for name in self.content if self.types[name] == JSON)

    @property
    def label(self) -> bool:
        """True if there is one label a row, as unpaired preference has it."""
        return self.reader == "kto" and "label" in self.types and "completion" in self.content

    @property
    def pair(self) -> bool:
        """True if there is a chosen and a rejected answer."""
        return {"chosen", "rejected"} <= set(self.content)

    @property
    def prompted(self) -> bool:
        """True if the prompt has a column of its own."""
        return "prompt" in self.content

    @property
    def tools(self) -> bool:
        """True if there is a column of tools that the trainer reads."""
        return "tools" in self.types and self.reader not in ONLINE

    def place(self, column: str) -> TextPart:
        """Return which part of a conversation a column holds."""
        if column == "prompt":
            return "prompt"
        return "answer" if self.prompted and column in ANSWERS else "whole"

    def _of_form(self, wanted: Collection[Form]) -> tuple[str, ...]:
        return tuple(name for name in self.content if form_of(self.types[name]) in wanted)


def what_is_read(columns: Mapping[str, Type], shape: Shape, method: str | None, settings: ColumnSettings) -> Reads:
    """Return the columns that a method's trainer reads; without a method, those of the trainers for this type of data."""
    reader = method or _reader_of(shape)
    steps = method is None and set(STEPS) <= columns.keys() and "stepwise supervision" in shape.types
    content = _content(reader, columns, settings)
    words = tuple(name for name in content if name not in STEPS) if steps else content
    return Reads(words, columns, reader=reader, steps=steps, images=_images(columns, shape, words))


def _reader_of(shape: Shape) -> str | None:
    return next((READERS[kind] for kind in shape.types if kind in READERS), None)


def _images(columns: Mapping[str, Type], shape: Shape, words: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of images that are not empty."""
    return tuple(name for name in shape.images if columns.get(name, NULL) != NULL and name not in words)


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
