"""Which rows stand for all of them: the longest, the shortest, the strangest, some of each kind, and the first.

Works on Arrow tables, as `datasets` keeps them: lengths of a hundred thousand rows take milliseconds.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from ..libraries import np, pa, pc

LONG = 20_000  # characters; one row longer than that is kept, if others will do
KINDS = 8  # values of a column of labels at most
EACH = 2  # rows of each label
LEAST = 64  # rows that are looked at, however large they are
LOOKED_INTO = 2_000  # rows whose nested values are looked into, one by one
LOOKED_INTO_S = 0.3
NAMED = ("role", "from", "type")  # keys whose values are the shape of a message


def choose_rows(table: Any, count: int) -> list[int]:
    """Return the numbers of rows that stand for a table, ascending; all of them if it has no more than `count`.

    Args:
        table: A pyarrow table.
        count: How many are wanted; never fewer are given if there are as many.
    """
    rows = table.num_rows
    if rows <= count:
        return list(range(rows))
    lengths = row_lengths(table)
    order = lengths.argsort(kind="stable")
    chosen = dict.fromkeys([int(order[-1])])
    first = iter(range(min(rows, count)))
    odd = _odd_rows(table, order)
    # A plain row for each odd one: what is odd alone is no picture of the whole.
    wanted = _unlong(lengths, _alternate(odd, first))
    for row in wanted:
        if len(chosen) >= count:
            break
        chosen.setdefault(row)
    for row in order.tolist():  # the shortest, where too many are very long
        if len(chosen) >= count:
            break
        chosen.setdefault(row)
    return sorted(chosen)


def first_rows(dataset: Any, rows: int, size: int) -> Any:
    """Return the first rows of a `datasets.Dataset` as an Arrow table.

    Args:
        dataset: Whatever format it gives its rows in.
        rows: How many at most.
        size: How many bytes about at most, of rows of average size.
    """
    average = dataset.data.nbytes / max(dataset.data.num_rows, 1)
    most = min(len(dataset), rows, max(int(size / max(average, 1)), LEAST))
    return dataset.with_format("arrow").select(range(most))[:]


def row_lengths(table: Any) -> Any:
    """Return the characters (bytes of UTF-8) and items of each row: int64, (rows,)."""
    total = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.combine_chunks().columns:  # there may be a chunk a row
        parts = [_lengths(chunk) for chunk in column.chunks]
        if parts:
            total += np.concatenate(parts)
    return total


def _alternate(*sources: Iterable[int]) -> Iterator[int]:
    for turn in zip_longest(*sources):
        yield from (row for row in turn if row is not None)


def _unlong(lengths: Any, wanted: Iterable[int]) -> Iterator[int]:
    return (row for row in wanted if lengths[row] <= LONG)


def _odd_rows(table: Any, order: Any) -> Iterator[int]:
    """Yield rows that are unlike others, the most telling first."""
    yield from _label_rows(table)
    yield int(order[0])
    for column in table.columns:
        yield from _empty_or_none(column)
    yield from _rare_rows(table)
    for column in table.columns:
        yield from _furthest(column)


def _label_rows(table: Any) -> Iterator[int]:
    """Yield a row of each value of the columns that hold labels, then another of each."""
    again: list[int] = []
    for column in table.columns:
        kind = column.type
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_string(kind)):
            continue
        values = column.slice(0, LOOKED_INTO).to_pylist()
        if len(set(values)) > min(KINDS, max(2, len(values) // 4)):
            continue
        places: dict[Any, list[int]] = {}
        for row, value in enumerate(values):
            places.setdefault(value, []).append(row)
        for rows in places.values():
            yield rows[0]
            again.extend(rows[1:EACH])
    yield from again


def _empty_or_none(column: Any) -> Iterator[int]:
    """Yield the first row with None and the first with an empty text or list."""
    if column.null_count:
        yield int(np.argmax(pc.is_null(column).to_numpy()))
    sizes = _sizes(column)
    if sizes is not None and len(found := np.flatnonzero(sizes == 0)):
        yield int(found[0])


def _sizes(column: Any) -> Any:
    """Return bytes of texts or items of lists, -1 for None; None for a column of something else."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(pc.binary_length(column), -1).to_numpy()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pc.fill_null(pc.list_value_length(column), -1).to_numpy()
    return None


def _furthest(column: Any) -> Iterator[int]:
    """Yield the longest and the shortest of a column that are not empty, and the text with most beyond ASCII."""
    sizes = _sizes(column)
    if sizes is None or not len(sizes):
        return
    yield int(sizes.argmax())
    yield int(np.where(sizes > 0, sizes, np.iinfo(np.int64).max).argmin())
    if pa.types.is_string(column.type):
        beyond = sizes - pc.fill_null(pc.utf8_length(column), -1).to_numpy()
        if beyond.any():
            yield int(beyond.argmax())


def _rare_rows(table: Any) -> Iterator[int]:
    """Yield a row of each shape that nested values have, the rarest shape first; the most frequent is not odd."""
    names = [field.name for field in table.schema if not _holds_bytes(field.type)]
    began_s = time.perf_counter()
    shapes: list[Any] = []
    for batch in table.select(names).slice(0, LOOKED_INTO).to_batches(max_chunksize=100):
        shapes.extend(shape_of(row) for row in batch.to_pylist())
        if time.perf_counter() - began_s > LOOKED_INTO_S:
            break
    first: dict[Any, int] = {}
    for row, shape in enumerate(shapes):
        first.setdefault(shape, row)
    yield from (first[shape] for shape, _ in reversed(Counter(shapes).most_common()[1:]))


def shape_of(value: Any, key: str = "") -> Any:
    """Return the kind of a value, hashable: keys, types, roles, emptiness; not the content of texts.

    >>> shape_of({"role": "user", "content": "a"}) == shape_of({"role": "user", "content": "b"})
    True
    >>> shape_of({"content": None}) == shape_of({"content": "b"})
    False
    """
    if isinstance(value, dict):
        return tuple(sorted((str(name), shape_of(part, str(name))) for name, part in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", *sorted({repr(shape_of(part, key)) for part in value}))
    if isinstance(value, str):
        return value if key in NAMED and len(value) < LONG // 1000 else ("", "str")[bool(value.strip())]
    return type(value).__name__


def _holds_bytes(kind: Any) -> bool:
    """True if a type holds bytes: images and sounds, which are costly to look into."""
    if isinstance(kind, pa.BaseExtensionType):
        return True
    inner = [kind.field(place).type for place in range(kind.num_fields)] if kind.num_fields else []
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or any(_holds_bytes(one) for one in inner)


def _lengths(array: Any) -> Any:
    """Return the bytes and items of each value: int64, (values,)."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _lengths(array.storage)
    if pa.types.is_dictionary(kind):
        return _lengths(array.dictionary_decode())
    if pa.types.is_struct(kind):
        return sum(map(_lengths, array.flatten()), np.zeros(len(array), dtype=np.int64))
    if _is_any(kind, LISTS):
        return _lengths_of_lists(array)
    if _is_any(kind, TEXTS):
        return pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.zeros(len(array), dtype=np.int64)


LISTS = ("is_list", "is_large_list", "is_fixed_size_list")
TEXTS = ("is_string", "is_large_string", "is_binary")


def _is_any(kind: Any, tests: Iterable[str]) -> bool:
    """True if a type passes one of pyarrow's tests. They are named, because pyarrow is imported by the script first."""
    return any(getattr(pa.types, test)(kind) for test in tests)


def _lengths_of_lists(array: Any) -> Any:
    """Return the items of each list with the lengths of these: int64, (values,)."""
    counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum(counts)
    sums = np.concatenate([[0], np.cumsum(_lengths(array.flatten()))])
    return counts + sums[ends] - sums[ends - counts]
