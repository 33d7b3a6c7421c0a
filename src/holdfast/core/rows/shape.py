"""What a dataset is to a trainer, in the words of TRL's documentation."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Literal

from holdfast.core.rows.scan import RowCount

DatasetType = Literal[
    "language modeling", "prompt-only", "prompt-completion", "preference", "unpaired preference", "stepwise supervision"
]
RowFormat = Literal["standard", "conversational", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What TRL would take a dataset for.

    Attributes:
        types: Its types; more than one where trainers differ, none if no trainer knows it.
        format: Texts, or lists of messages.
        turns: Columns that hold lists of messages, or one message, whether a trainer reads them or not.
        texts: Columns that hold texts which a trainer reads.
        tools: Whether there are tools, or calls of them.
        images: Columns that hold images.
        roles: Names of the speakers in rows that were looked at.
        transcripts: Columns of texts that are conversations, written out by `Human:` and `Assistant:`.
        implicit_prompt: Of a preference, whether the prompt stands at the beginning of both answers alone.
        repeats: Columns with the name of a question, its context or a system message, with the columns that repeat their words.
    """

    types: tuple[DatasetType, ...] = ()
    format: RowFormat = "unknown"
    turns: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    tools: bool = False
    images: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    transcripts: tuple[str, ...] = ()
    implicit_prompt: bool = False
    repeats: Mapping[str, tuple[str, ...]] = dataclass_field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether a method can train on a dataset as it is.

    Attributes:
        ready: Whether it can.
        because: Why not, in words; empty if it can.
        caveat: Where it can, what it would leave out or get wrong without a word; empty if nothing is known.
        mapping: Source of a Python module with a function `rewrite(row)` that makes it so, tried on rows of the dataset;
            None if it is not needed, or none is known.
        removes: Columns that the mapping takes away.
        casts: Columns of text that the mapping makes numbers or truth values of; `datasets` keeps such a column's type if it is
            `large_string`, so each is cast to `string` first.
        drops: Rows that the mapping's `keep(row)` leaves out, by the column that has no usable value in them; empty if it has none.
        field: Of a JSON file with one object, the list in it that holds the rows; empty if the rows stand by themselves.
        unmapped: Why there is no mapping where one is needed; empty if there is one.
    """

    ready: bool
    because: str = ""
    caveat: str = ""
    mapping: str | None = None
    removes: tuple[str, ...] = ()
    casts: tuple[str, ...] = ()
    drops: Mapping[str, RowCount] = dataclass_field(default_factory=dict[str, RowCount])
    field: str = ""
    unmapped: str = ""
