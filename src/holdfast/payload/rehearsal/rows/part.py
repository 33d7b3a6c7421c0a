"""Datasets that hold a part of the rows that they stand for, and what a script may do with them as with the whole.

`len` is the number of rows at hand, so that whatever is computed from it fits. A row whose number is beyond them, but
not beyond the whole, is one of those at hand (its number modulo theirs): `ds[5000]`, `ds.select(range(50_000))`,
`ds.train_test_split(test_size=5_000)` work as they would, and fail as they would where the whole is too small.
"""

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..wrapping import wrap

MARK = "_holdfast_part"
MOST = 20_000  # rows that a slice gives at once
AT_LEAST = 16  # rows that a filter or slice leaves, if the whole would have left more
_wholes: dict[int, float] = {}  # rows that datasets have, by the rows that were given of them


@dataclass(frozen=True)
class DatasetPart:
    """What a dataset stands for.

    Attributes:
        whole: Rows of the whole; infinite where that is not known.
        mixed: Whether rows were given under numbers that are not theirs, or twice: then two datasets that share rows
            may have none in common in truth.
        spare: The whole, where it is at hand.
    """

    whole: float
    mixed: bool = False
    spare: Any = None

    def __deepcopy__(self, memory: dict[int, Any]) -> "DatasetPart":
        return self


def part_of(dataset: Any) -> DatasetPart | None:
    """Return the part that a dataset stands for, None if it is whole."""
    found = getattr(dataset, "__dict__", {}).get(MARK)
    return found if isinstance(found, DatasetPart) else None


def as_part(dataset: Any, whole: float, *, mixed: bool = False, spare: Any = None) -> Any:
    """Return a dataset, marked as a part of that many rows if it has fewer."""
    vars(dataset).pop(MARK, None)
    if whole > len(dataset) or mixed:
        _mark(dataset, DatasetPart(max(whole, len(dataset)), mixed=mixed, spare=spare))
    return dataset


def _mark(dataset: Any, part: DatasetPart) -> None:
    setattr(dataset, MARK, part)
    _wholes[len(dataset)] = max(part.whole, most_rows(len(dataset)))


def most_rows(at_hand: int) -> float:
    """Return the number of rows of the largest dataset that was reduced to so many; 0 if there is none."""
    return _wholes.get(at_hand, 0)


def any_part() -> bool:
    """True if fewer rows of some dataset were given than there are."""
    return bool(_wholes)


def whole_rows(dataset: Any) -> float:
    """Return the number of rows in the whole dataset."""
    part = part_of(dataset)
    return part.whole if part else len(dataset)


def is_mixed(dataset: Any) -> bool:
    """True if rows were given under other numbers than their own."""
    part = part_of(dataset)
    return part is not None and part.mixed


def install_parts(module: Any) -> None:
    """Let `datasets.Dataset` and its functions treat parts as the whole."""
    owner = module.Dataset
    ours: dict[str, Callable[..., Any]] = {
        "__getitem__": _getitem,
        "select": _select,
        "skip": _skip,
        "shard": _shard,
        "train_test_split": _split,
        "add_column": _add_column,
        "unique": _unique,
    }
    for name, around in ours.items():
        wrap(owner, name, around)
    for name in ("shuffle", "sort", "cast", "flatten_indices", "repeat", "class_encode_column", "take"):
        wrap(owner, name, _carry)
    for place in (module, module.combine):
        wrap(place, "concatenate_datasets", _concatenate)
        wrap(place, "interleave_datasets", _interleave)


def carry(dataset: Any, result: Any) -> Any:
    """Mark the result of a transformation as a part in proportion."""
    part = part_of(dataset)
    if part and part_of(result) is None and result is not dataset:
        whole = scaled(part.whole, len(result) / max(len(dataset), 1))
        _mark(result, replace(part, whole=max(whole, len(result)), spare=None))
    return result


def scaled(whole: float, share: float) -> float:
    """Return a share of a number of rows, which may be infinite."""
    return math.ceil(whole * share) if math.isfinite(whole) else math.inf if share else 0


def at_least(result: Any, requested: float) -> Any:
    """Return a part with some rows more than once, where few are left of what would have been more."""
    rows = len(result)
    if 0 < rows < AT_LEAST < requested:
        result = as_part(result.select([number % rows for number in range(AT_LEAST)]), requested, mixed=True)
    return result


def _carry(original: Callable[..., Any], dataset: Any, *args: Any, **kwargs: Any) -> Any:
    return carry(dataset, original(dataset, *args, **kwargs))


def _beyond(dataset: Any, numbers: Iterable[int]) -> bool:
    """True if some numbers are beyond the rows at hand and all are within the whole."""
    part, rows = part_of(dataset), len(dataset)
    if not part or not rows:
        return False
    if isinstance(numbers, range):
        ends = [numbers[0], numbers[-1]] if numbers else [0]
    else:
        ends = [int(number) for number in numbers] or [0]
    return max(ends) >= rows and max(ends) < part.whole and min(ends) >= -rows


def _getitem(original: Callable[..., Any], dataset: Any, key: Any) -> Any:
    if MARK not in vars(dataset) or isinstance(key, (str, bool)):
        return original(dataset, key)
    wrapped = _wrapped(dataset, key)
    return original(dataset, key if wrapped is None else wrapped)


def _wrapped(dataset: Any, key: Any) -> Any:
    """Return what to read instead of a key beyond the rows at hand; None if the key can be used unchanged."""
    if isinstance(key, slice):
        return _sliced(key, dataset)
    if hasattr(key, "__len__"):  # an array has an `__index__` too
        return _within(dataset, key) if len(key) else None
    if hasattr(key, "__index__"):
        rows = _within(dataset, [int(key)])
        return rows[0] if rows else None
    return None


def _within(dataset: Any, numbers: Iterable[Any]) -> list[int] | None:
    """Return numbers of rows at hand for those that are beyond them; None if they are not."""
    rows = len(dataset)
    return [int(each) % rows for each in numbers] if _beyond(dataset, numbers) else None


def _sliced(key: slice, dataset: Any) -> list[int] | None:
    """Return the rows of a slice whose ends are beyond those at hand; None if the slice does as it is."""
    rows, step = len(dataset), key.step or 1
    start, stop, whole = key.start or 0, key.stop, whole_rows(dataset)
    if step < 1 or not _reaches_beyond(start, stop, rows, whole):
        return None
    stop = start + rows if stop is None else min(stop, start + MOST * step)
    return [number % rows for number in range(start, int(min(stop, whole)), step)]


def _reaches_beyond(start: int, stop: int | None, rows: int, whole: float) -> bool:
    """True if a slice begins within the whole and reaches past the rows at hand. An open end is taken as the end of these."""
    if not rows or not 0 <= start < whole:
        return False
    if stop is None:
        return start >= rows
    return stop >= 0 and (start >= rows or stop > rows)


def _select(original: Callable[..., Any], dataset: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
    if MARK not in vars(dataset):
        return original(dataset, indices, *args, **kwargs)
    if isinstance(indices, Iterator):
        indices = list(indices)
    if hasattr(indices, "to_pylist"):
        indices = indices.to_pylist()
    if not _beyond(dataset, indices):
        return carry(dataset, original(dataset, indices, *args, **kwargs))
    rows = len(dataset)
    count = len(indices)
    numbers = indices[: rows * 2] if isinstance(indices, range) else indices
    chosen = list(dict.fromkeys(int(number) % rows for number in numbers))
    return as_part(original(dataset, chosen, *args, **kwargs), count, mixed=True)


def _skip(original: Callable[..., Any], dataset: Any, n: int) -> Any:
    if len(dataset) <= n < whole_rows(dataset):
        return dataset.select(range(n, int(min(n + len(dataset), whole_rows(dataset)))))
    return original(dataset, n)


def _shard(original: Callable[..., Any], dataset: Any, num_shards: int, index: int, *args: Any, **kwargs: Any) -> Any:
    rows = len(dataset)
    if 0 < rows < num_shards <= whole_rows(dataset) and 0 <= index < num_shards:
        num_shards, index = rows, index % rows
    return original(dataset, num_shards, index, *args, **kwargs)


def _split(
    original: Callable[..., Any], dataset: Any, test_size: Any = None, train_size: Any = None, **kwargs: Any
) -> Any:
    part, rows = part_of(dataset), len(dataset)
    if not part or not rows:
        return original(dataset, test_size, train_size, **kwargs)
    split = _split_anyway(original, dataset, *_fitting_sizes(test_size, train_size, rows, part.whole), kwargs)
    for one in split.values():
        carry(dataset, one)
    return split


def _split_anyway(
    original: Callable[..., Any], dataset: Any, test_size: Any, train_size: Any, given: dict[str, Any]
) -> Any:
    """Split rows; without stratifying by a label that has too few rows at hand."""
    try:
        return original(dataset, test_size, train_size, **given)
    except ValueError:
        label = given.get("stratify_by_column")
        if not label or not hasattr(dataset.features.get(label), "names"):
            raise
        # Of some class there is one row at hand, or none.
        return original(dataset, test_size, train_size, **{**given, "stratify_by_column": None})


def _fitting_sizes(test: Any, train: Any, rows: int, whole: float) -> tuple[Any, Any]:
    """Return the sizes of a split that fit the rows at hand; as they are, if the whole has too few rows for them."""
    count = sum(size for size in (test, train) if isinstance(size, int))
    return (_fitting(test, rows), _fitting(train, rows)) if count <= whole else (test, train)


def _fitting(size: Any, rows: int) -> Any:
    """Return a size of a split, at most half of the rows at hand where it is a number of rows."""
    return max(1, min(size, rows // 2)) if isinstance(size, int) and not isinstance(size, bool) else size


def _add_column(original: Callable[..., Any], dataset: Any, name: str, column: Any, *args: Any, **kwargs: Any) -> Any:
    part = part_of(dataset)
    if part and hasattr(column, "__len__") and len(column) != len(dataset) and part.whole in (len(column), math.inf):
        column = column[: len(dataset)]
    return carry(dataset, original(dataset, name, column, *args, **kwargs))


def _unique(original: Callable[..., Any], dataset: Any, column: str) -> Any:
    part = part_of(dataset)
    known = part is not None and part.spare is not None and column in part.spare.column_names
    return original(part.spare if part and known else dataset, column)


def _concatenate(original: Callable[..., Any], dsets: Any, *args: Any, **kwargs: Any) -> Any:
    parts = [part for part in map(part_of, dsets) if part]
    if not parts:
        return original(dsets, *args, **kwargs)
    sideways = kwargs.get("axis", args[2] if len(args) > 2 else 0) == 1  # noqa: PLR2004 - info, split, axis
    if not sideways:
        return _of_all(original(dsets, *args, **kwargs), dsets)
    rows, wholes = min(map(len, dsets)), {whole_rows(one) for one in dsets if math.isfinite(whole_rows(one))}
    if len(wholes) > 1:
        return original(dsets, *args, **kwargs)  # which fails, as it would
    return as_part(original([one.select(range(rows)) for one in dsets], *args, **kwargs), max(wholes, default=math.inf))


def _interleave(original: Callable[..., Any], datasets: Any, *args: Any, **kwargs: Any) -> Any:
    return _of_all(original(datasets, *args, **kwargs), datasets)


def _of_all(result: Any, sources: Iterable[Any]) -> Any:
    sources = list(sources)
    if any(map(part_of, sources)) and hasattr(result, "__len__"):
        mixed = any(map(is_mixed, sources))
        as_part(result, functools.reduce(lambda total, one: total + whole_rows(one), sources, 0.0), mixed=mixed)
    return result
