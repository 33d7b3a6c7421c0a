"""What was found in the columns of a dataset, as Python expressions over one row."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from holdfast.catalog.formats import DEFAULTS, ColumnSettings, Form, forms_of, settle
from holdfast.catalog.formats.words import plain_name
from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import FIRST_ROWS, LackingRows, RowCount, ValueKind
from holdfast.core.rows.shape import Shape
from holdfast.engine.mapping.usual import WRITTEN, UsualValues, kind_of
from holdfast.engine.script.python_source import render_literal

SHOWN: Final = 4
"""Values of a column that are shown."""
ColumnRole = Literal["prompt", "completion", "chosen", "rejected", "label", "messages", "text", "tools"]


@dataclass(frozen=True, slots=True)
class RowExpression:
    """An expression over `row`, and whether it gives a text, a list of messages, or something else as it stands."""

    code: str
    kind: Literal["text", "chat", "plain"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReading:
    """A reading of a dataset's columns.

    Attributes:
        what: The reading, in words: the first line of the mapping's docstring.
        parts: What stands where.
        lines: Statements that come before the result, without indentation.
        choosing: Such statements that make `chosen` and `rejected`, for methods that read them.
        helpers: Definitions that stand before the function.
        uses: Columns that are read; what they say must be found again in the result.
        needs: Columns that a row cannot do without: `keep` leaves out rows in which one is null.
        answers: Those of them whose text is to be learned: it leaves out rows in which one is blank, too.
        pair: Columns that answers to compare come from; a method that learns from the better one needs no other.
        implicit: Whether the two answers hold their prompt.
        turns: Of a conversation: the expression for its messages as they stand in the row; empty of anything else.
    """

    what: str
    parts: Mapping[ColumnRole, RowExpression]
    lines: tuple[str, ...] = ()
    choosing: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()
    implicit: bool = False
    turns: str = ""


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Why a reading that suggests itself is not certain."""

    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataProfile:
    """What is known of the data.

    Attributes:
        columns: Their types; None if it is not known.
        samples: Rows, as Python values.
        shape: What TRL takes it for.
        settings: What the job says that matters.
        lacking: Rows that lack a usable value, of all that the data has.
        unusual: Columns in which a few rows have values unlike all others; the samples are without these rows.
        numbers: Number of each sample, counted from 0; empty if they are the first rows.
        forms: What each column is to a trainer.
    """

    columns: Mapping[str, Type | None]
    samples: Sequence[Mapping[str, Any]]
    shape: Shape
    settings: ColumnSettings = DEFAULTS
    lacking: LackingRows = field(default_factory=LackingRows)
    unusual: Mapping[str, UsualValues] = field(default_factory=dict[str, UsualValues])
    numbers: Sequence[int] = ()
    forms: Mapping[str, Form] = field(init=False)

    def __post_init__(self) -> None:
        forms = forms_of(settle(self.columns, self.samples))
        written = {name: "number" for name, form in forms.items() if form == "unknown" and self._is_written(name)}
        object.__setattr__(self, "forms", {**forms, **written})

    def _is_written(self, name: str) -> bool:
        """True if a column holds numbers beside texts, which a mapping writes as text alike."""
        return {kind_of(value) for value in self.values(name)} == WRITTEN

    @property
    def numbered(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The samples with their numbers in the data."""
        return zip(self.numbers or range(len(self.samples)), self.samples, strict=True)

    def has(self, *names: str) -> bool:
        """Whether there are columns of all these names."""
        return all(name in self.columns for name in names)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return those of the names that are columns of texts, without regard to capitals and outer spaces, as they are spelled."""
        spelled = {plain_name(name): name for name in self.columns}
        there = (spelled[name] for name in names if name in spelled)
        return tuple(name for name in there if self.forms[name] == "text")

    def values(self, name: str) -> list[Any]:
        """Return a column's values in the samples, without nulls."""
        return [row[name] for row in self.samples if row.get(name) is not None]

    def describe_values(self, name: str) -> str:
        """Return the first values of a column, in words."""
        values = list(dict.fromkeys(map(str, self.values(name))))
        more = ", …" if len(values) > SHOWN else ""
        return (
            f"its values are {', '.join(f'{value!r:.40}' for value in values[:SHOWN])}{more}"
            if values
            else "it is null"
        )


def lacking_rows(columns: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> LackingRows:
    """Return the rows that lack a usable value, without those whose messages are strange."""
    names = tuple(columns)
    kinds = {name: _rows_by_kind(rows, name) for name in names}
    return LackingRows(
        nulls={name: found for name in names if (found := _rows_where(rows, name, lambda value: value is None))},
        blanks={name: found for name in names if (found := _rows_where(rows, name, is_blank))},
        empties={name: found for name in names if (found := _rows_where(rows, name, lambda value: value == []))},
        kinds={name: found for name, found in kinds.items() if len(found) > 1},
    )


def is_blank(value: object) -> bool:
    """True of a text of white space alone."""
    return isinstance(value, str) and not value.strip()


def _rows_by_kind(rows: Sequence[Mapping[str, Any]], name: str) -> dict[ValueKind, RowCount]:
    numbers: dict[ValueKind, list[int]] = {}
    for at, row in enumerate(rows):
        if kind := kind_of(row.get(name)):
            numbers.setdefault(kind, []).append(at)
    return {kind: RowCount(len(found), tuple(found[:FIRST_ROWS])) for kind, found in numbers.items()}


def _rows_where(rows: Sequence[Mapping[str, Any]], name: str, is_so: Callable[[Any], bool]) -> RowCount | None:
    numbers = [at for at, row in enumerate(rows) if is_so(row.get(name))]
    return RowCount(len(numbers), tuple(numbers[:FIRST_ROWS])) if numbers else None


def cell(name: str) -> str:
    r"""Return the expression for a column of the row.

    >>> cell("it's")
    'row["it\'s"]'
    """
    return f"row[{render_literal(name)}]"
