"""Types of columns, as far as training cares: what Parquet, JSON and the Hub's features have in common."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

ScalarName = Literal[
    "string", "integer", "float", "boolean", "null", "binary", "time", "image", "audio", "video", "json", "other"
]
"""Scalars. `json` is a column whose rows differ in type, as datasets 5 has it; `null` one without any value."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts.

    Attributes:
        word: What it is.
        labels: Of an integer that stands for a class, the classes' names.
    """

    word: ScalarName
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, of any length, of one type.

    >>> str(ListOf(Struct({"role": STRING, "content": STRING})))
    'list<struct<role: string, content: string>>'
    """

    of: "Type"

    def __str__(self) -> str:
        return f"list<{self.of}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """A mapping with the same names in each row; what a row lacks is null."""

    fields: Mapping[str, "Type"] = field(default_factory=dict[str, "Type"])

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{name}: {kind}' for name, kind in self.fields.items())}>"


Type = Scalar | ListOf | Struct
"""The type of a column."""

STRING: Final = Scalar("string")
NULL: Final = Scalar("null")


def scalars_of(kind: Type) -> Iterator[Scalar]:
    """Yield every type without parts that a type is made of, depth first.

    >>> [str(part) for part in scalars_of(ListOf(Struct({"a": STRING, "b": ListOf(NULL)})))]
    ['string', 'null']
    """
    match kind:
        case ListOf(of):
            yield from scalars_of(of)
        case Struct(fields):
            for part in fields.values():
                yield from scalars_of(part)
        case Scalar():
            yield kind
