"""The data that a program's trainer is given: where it was loaded, and what was done to its columns on the way.

Covered: what methods of datasets do whose arguments are written out: rows are drawn, columns renamed, removed or selected; and `map`
with a function of the program that returns a literal dict. Not covered: what else makes rows of its own; after it the columns are
not known.
Source: datasets 5.2; `tests/engine/references/test_training_data.py` does the same with it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from holdfast.catalog.formats import types_of_rows
from holdfast.core.check.facts import Dataset
from holdfast.core.errors import SourceError
from holdfast.core.job.calls import Call, CallResult, LocalName
from holdfast.core.job.document import Document, Unknown
from holdfast.core.rows.columns import Type
from holdfast.engine.script.literal_rows import rows_in

KEEPING: Final = frozenset(
    {"shuffle", "select", "filter", "take", "skip", "train_test_split", "sort", "shard", "repeat"} | {"flatten_indices"}
)
"""Methods that leave the columns as they are."""
IN_PLACE: Final = frozenset({"set_transform", "set_format", "update"})
"""Methods that change what a dataset gives, and return nothing."""
ROWS: Final = frozenset({"datasets.Dataset.from_list", "datasets.Dataset.from_dict"})
LOADS: Final = frozenset(
    {"datasets.load_dataset", "datasets.load_from_disk", "datasets.Dataset.load_from_disk"}
    | {"datasets.DatasetDict.load_from_disk"}
    | {f"datasets.Dataset.from_{builder}" for builder in ("json", "csv", "parquet", "text")}
)
SPLIT_BY_NAME: Final = frozenset({"datasets.load_dataset"})
"""Those of them that give every split where none is requested."""
SPLITS_ITSELF: Final = "train_test_split"
COMPUTED: Final = "computed at run time"
MAP: Final = "map"
REMOVED: Final = "remove_columns"
COLUMN_NAMES: Final = "column_names"


@dataclass(frozen=True, slots=True)
class DataFlow:
    """Data on its way to a trainer.

    Attributes:
        source: The call that loads it, or a `map` that makes all its columns.
        split: The item of what that call gives; empty if it is taken whole.
        steps: The calls that it goes through, in order.
    """

    source: Call
    split: str
    steps: tuple[Call, ...]


def trainer_given(document: Document, argument: str) -> Any:
    """Return the data passed to a trainer of TRL; None if there is none."""
    trainer = document.call("trainer")
    if trainer is None or trainer.package != "trl":
        return None
    return trainer.arguments.get(argument)


def trace(document: Document, argument: str) -> DataFlow:
    """Return the way of the data that a trainer is given.

    Raises:
        SourceError: It cannot be seen, or is made anew on the way.
    """
    value, steps, split = trainer_given(document, argument), list[Call](), ""
    while True:
        result, call = _result_and_call(document, value)
        item = result.item or split
        if _makes_rows(call):
            return DataFlow(call, item, tuple(reversed(steps)))
        if call.receiver is None or reshaped(call) is None:
            raise _unknown_columns(document, call)
        split = "" if call.name == SPLITS_ITSELF else item
        steps.append(call)
        value = call.receiver


def _result_and_call(document: Document, value: Any) -> tuple[CallResult, Call]:
    """Return a value as the result of a call, and the call.

    Raises:
        SourceError: It is no result of a call of the program, or it is changed in place.
    """
    call = document.call(value.key) if isinstance(value, CallResult) else None
    if call is None:
        raise _unknown(document, value.because if isinstance(value, Unknown) else COMPUTED)
    if touched := next(_changes(document, value), None):
        raise _unknown_columns(document, touched)
    return value, call


def _makes_rows(call: Call) -> bool:
    """True if nothing before a call matters: it loads the data, holds the rows, or makes all columns."""
    return call.path in LOADS | ROWS or makes_all_columns(call)


def _changes(document: Document, result: CallResult) -> Iterator[Call]:
    """Yield the calls that change something in place."""
    calls = (call for call in document.calls if call.name in IN_PLACE)
    return (call for call in calls if call.receiver is not None and call.receiver.key == result.key)


def _unknown(document: Document, because: str) -> SourceError:
    return SourceError(because, where=document.path, fix="nothing to do")


def _unknown_columns(document: Document, call: Call) -> SourceError:
    return _unknown(document, f"what `{call.label}` makes of the columns is not known")


def written_rows(call: Call) -> Dataset:
    """Return the facts about literal rows in a call.

    Raises:
        SourceError: They are computed.
    """
    rows = rows_in(next(iter((*call.positional, *call.arguments.values())), None))
    if not rows or any(isinstance(value, Unknown) for row in rows for value in row.values()):
        raise SourceError(
            f"the rows that `{call.label}` is given are computed", where=call.key, fix="write them into a file"
        )
    columns = tuple(dict.fromkeys(chain.from_iterable(rows)))
    return Dataset(columns=columns, rows=len(rows), types=types_of_rows(rows))


def after(data: Dataset, steps: tuple[Call, ...]) -> Dataset:
    """Return the facts about data after some steps; the number of rows left is unknown."""
    columns: TypedColumns = {name: data.types.get(name) for name in data.columns}
    for step in steps:
        change = reshaped(step)
        columns = change(columns) if change else columns
    types = {name: kind for name, kind in columns.items() if kind is not None}
    return replace(data, columns=tuple(columns), types=types, rows=None if steps else data.rows)


def mapped_rows(call: Call) -> Dataset:
    """Return the facts about the rows that a `map` makes alone."""
    return after(Dataset(), (call,))


TypedColumns = dict[str, Type | None]
"""The columns there are, each with its type as far as that is known."""
ColumnChange = Callable[[TypedColumns], TypedColumns]


def reshaped(step: Call) -> ColumnChange | None:
    """Return a method's effect on the columns; None if that is unknown."""
    if step.name in KEEPING:
        return dict
    if step.name == MAP:
        return _mapped(step)
    given = [*step.positional, *step.arguments.values()]
    if step.open or step.name not in CHANGES or len(given) != CHANGES[step.name][0]:
        return None
    return CHANGES[step.name][1](step)


def makes_all_columns(step: Call) -> bool:
    """True of a `map` that removes all columns and returns others that can be seen."""
    return step.name == MAP and _removes_all(step) and _mapped(step) is not None


def _removes_all(step: Call) -> bool:
    """True if a method removes all columns of what it is called on: `remove_columns=rows.column_names`."""
    removed, receiver = step.arguments.get(REMOVED), step.receiver
    if not isinstance(removed, CallResult) or receiver is None:
        return False
    return removed.path.endswith(f".{COLUMN_NAMES}") and removed.key == receiver.key


def _mapped(step: Call) -> ColumnChange | None:
    """Return the effect of `map`: what its function returns stays, also under the name of a column that is removed."""
    function = step.arguments.get("function", next(iter(step.positional), None))
    if not isinstance(function, LocalName) or function.returns != "dict" or not function.keys or step.open:
        return None
    removes = _removal(step)
    if removes is None:
        return None
    made = _made_columns(function, step)
    return lambda columns: {name: kind for name, kind in columns.items() if name in made or not removes(name)} | made


def _removal(step: Call) -> Callable[[str], bool] | None:
    """Return the predicate that is true of the columns that `map` removes; None if they are not known."""
    if _removes_all(step):
        return lambda _: True
    gone = _as_names(step.arguments.get(REMOVED) or [])
    return None if gone is None else gone.__contains__


def _made_columns(function: LocalName, step: Call) -> TypedColumns:
    """Return the columns that a function makes, with their types if it gets single rows and no types are given."""
    typed = step.arguments.get("batched", False) is False and "features" not in step.arguments
    return {name: function.types.get(name) if typed else None for name in function.keys}


def _renamed(step: Call) -> ColumnChange | None:
    first, second = _arguments(step, "original_column_name", "new_column_name")
    return _renaming({first: second}) if isinstance(first, str) and isinstance(second, str) else None


def _all_renamed(step: Call) -> ColumnChange | None:
    (mapping,) = _arguments(step, "column_mapping")
    known = isinstance(mapping, Mapping) and all(isinstance(name, str) for pair in mapping.items() for name in pair)
    return _renaming(mapping) if known else None


def _renaming(mapping: Mapping[str, str]) -> ColumnChange:
    return lambda columns: {mapping.get(name, name): kind for name, kind in columns.items()}


def _removed(step: Call) -> ColumnChange | None:
    gone = _listed(step)
    return None if gone is None else lambda columns: {name: kind for name, kind in columns.items() if name not in gone}


def _selected(step: Call) -> ColumnChange | None:
    kept = _listed(step)
    return None if kept is None else lambda columns: {name: columns[name] for name in kept if name in columns}


def _listed(step: Call) -> list[str] | None:
    (value,) = _arguments(step, "column_names")
    return _as_names(value)


def _as_names(value: Any) -> list[str] | None:
    """Return one name or several as a list; None if they are something else."""
    listed = [value] if isinstance(value, str) else value
    known = isinstance(listed, list | tuple) and all(isinstance(name, str) for name in listed)
    return list(listed) if known else None


def _arguments(step: Call, *names: str) -> list[Any]:
    given = dict(zip(names, step.positional, strict=False)) | dict(step.arguments)
    return [given.get(name) for name in names]


CHANGES: Final[Mapping[str, tuple[int, Callable[[Call], ColumnChange | None]]]] = {
    "rename_column": (2, _renamed),
    "rename_columns": (1, _all_renamed),
    "remove_columns": (1, _removed),
    "select_columns": (1, _selected),
}
"""Methods that change which columns there are, with the number of their arguments."""
