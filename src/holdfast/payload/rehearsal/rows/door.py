"""The last cut, at a trainer's door: a few rows of whatever it is given, the extreme ones among them."""

import copy
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..events import EventWriter
from ..libraries import datasets
from .choosing import choose_rows, first_rows
from .part import as_part, is_mixed, whole_rows

LOOKED_AT = 2_000  # rows that the extreme ones are looked for among
LOOKED_AT_S = 2.0
LOOKED_AT_BYTES = 8 << 20


def few(dataset: Any, count: int, events: EventWriter, role: str = "train") -> Any:
    """Return a dataset for a trainer with `count` of its rows at most, of the same kind as it was.

    Args:
        dataset: What the script gives: of `datasets` (map-style, a stream, a dict of them), of torch, a list, None.
        count: How many rows are kept at most.
        events: Receives how many rows there were, and what was made smaller.
        role: `train` or `eval`.
    """
    if isinstance(dataset, dict):
        return _like(dataset, {name: few(one, count, events, role) for name, one in dataset.items()})
    for kind, cut in (("Dataset", _few_rows), ("IterableDataset", _few_of_stream)):
        if _is(dataset, "datasets", kind):
            return cut(dataset, count, events, role)
    if _is(dataset, "torch.utils.data", "IterableDataset"):
        return _as_kind(dataset, __iter__=lambda self: itertools.islice(type(dataset).__iter__(self), count))
    if isinstance(dataset, list) or _is(dataset, "torch.utils.data", "Dataset"):
        return _few_items(dataset, count, events, role)
    return dataset


def _is(value: Any, module: str, name: str) -> bool:
    owner = getattr(sys.modules.get(module), name, None)
    return isinstance(owner, type) and isinstance(value, owner)


def _like(before: Any, cut: dict[Any, Any]) -> Any:
    return cut if type(before) is dict else type(before)(cut)


def _few_rows(dataset: Any, count: int, events: EventWriter, role: str) -> Any:
    if not is_mixed(dataset):
        events.fact("rows", role=role, rows=_number(dataset))
    if len(dataset) <= count:
        return dataset
    events.shrunk(f"rows of the {role} dataset", _number(dataset), count, unit="rows")
    whole, table = whole_rows(dataset), first_rows(dataset, LOOKED_AT, LOOKED_AT_BYTES)
    return as_part(dataset.select(choose_rows(table, count)), whole, mixed=is_mixed(dataset))


def _number(dataset: Any) -> Any:
    rows = whole_rows(dataset)
    return int(rows) if rows != float("inf") else None


def _few_of_stream(stream: Any, count: int, events: EventWriter, role: str) -> Any:
    """Return a stream of a few of the rows that come first, the extreme ones among them; it is read once."""
    kept = list(_for_a_while(stream.with_format(None)))
    if not kept:
        return stream
    chosen = _choose_items(kept, count)
    if len(kept) > len(chosen):
        events.shrunk(f"rows of the {role} dataset", "a stream", len(chosen), unit="rows")
    rows = [kept[number] for number in chosen]
    features = stream.features
    again = datasets.IterableDataset.from_generator(_Again(rows), features=features)
    kind = getattr(stream._formatting, "format_type", None)
    return again.with_format(kind) if kind else again


class _Again:
    """Gives rows anew each time."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __call__(self) -> Iterator[Any]:
        yield from copy.deepcopy(self.rows)


def _for_a_while(rows: Any) -> Iterator[Any]:
    began_s = time.perf_counter()
    for number, row in enumerate(rows):
        yield row
        if number + 1 >= LOOKED_AT // 8 or time.perf_counter() - began_s > LOOKED_AT_S:
            return


def _few_items(dataset: Any, count: int, events: EventWriter, role: str) -> Any:
    """Return a few items of a list, or of a dataset of torch: of the same class, with the rest of it as it was."""
    try:
        rows = len(dataset)
    except TypeError:
        return dataset
    if rows <= count:
        return dataset
    events.shrunk(f"rows of the {role} dataset", rows, count, unit="rows")
    kept = list(_for_a_while(dataset[number] for number in range(rows)))
    chosen = _choose_items(kept, count)
    if isinstance(dataset, list):
        return [dataset[number] for number in chosen]
    item: Callable[..., Any] = type(dataset).__getitem__
    changed = {"__len__": lambda _: len(chosen), "__getitem__": lambda self, number: item(self, chosen[number])}
    if items := getattr(type(dataset), "__getitems__", None):  # what a DataLoader asks for a batch, if there is one
        changed["__getitems__"] = lambda self, numbers: items(self, [chosen[number] for number in numbers])
    return _as_kind(dataset, **changed)


def _choose_items(items: list[Any], count: int) -> list[int]:
    """Return the numbers of the longest, the shortest and the first items, ascending."""
    order = sorted(range(len(items)), key=lambda number: size_of(items[number]))
    odd = [order[-1], order[0], *(number for number, item in enumerate(items) if _has_none(item))]
    chosen = dict.fromkeys([*odd[: max(count // 2, 1)], *range(len(items))])
    return sorted(itertools.islice(chosen, count))


def size_of(value: Any) -> int:
    """Return the characters and items of a value."""
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, (list, tuple)):
        return len(value) + sum(map(size_of, value))
    if isinstance(value, str):
        return len(value)
    return (
        int(value.numel())
        if hasattr(value, "numel")
        else int(getattr(value, "size", 1) or 1)
        if hasattr(value, "dtype")
        else 1
    )


def _has_none(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_none, value.values()))
    return value is None or value == "" or (isinstance(value, (list, tuple)) and not value)


def _as_kind(dataset: Any, **methods: Any) -> Any:
    """Return a copy whose class has other methods, else the same."""
    kind, made = type(dataset), copy.copy(dataset)
    made.__class__ = type(kind.__name__, (kind,), {**methods, "__module__": kind.__module__})
    return made
