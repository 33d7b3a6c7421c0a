"""How much of a dataset is read: files of the Hub and large ones up to a bound, by the builder's own code."""

import functools
import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..libraries import datasets, hub, pa, pq

ROWS = 20_000
BYTES = 32 << 20  # as Arrow tables
SECONDS = 3.0
REMOTE_ROWS = 2_000
REMOTE_BYTES = 8 << 20
LAST = "last"
BLOCK = 512 << 10  # bytes that are asked of the Hub at once
PIECE = 256 << 10  # bytes of a column of a remote file of Parquet
BATCH = 500  # rows
CHUNK = 2 << 20  # bytes of a remote file of JSON that are read at once
COMPRESSION = 5  # times as large as its file is what a compressed file holds
COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".lz4")
COUNTED_BYTES = 4 << 30  # files of lines whose lines are counted
HEAD = 0.75  # share of the rows read that come from the beginning; the others come from the last file
LINES = (".jsonl", ".csv", ".tsv", ".txt", ".json")


class Bound:
    """Cuts short what a builder generates, split by split, and knows which splits were cut."""

    def __init__(self, builder: Any) -> None:
        remote = is_remote(builder)
        self._split = ""
        self.cut: set[str] = set()
        self._rows, self._bytes = (REMOTE_ROWS, REMOTE_BYTES) if remote else (ROWS, BYTES)
        # Types are those of the first chunk. Where that is made smaller, no other is read, whose types might not fit.
        self._one_chunk = remote and hasattr(builder.config, "chunksize") and builder.config.chunksize > CHUNK
        if self._one_chunk:
            builder.config.chunksize = CHUNK
        self._parquet = _plain_parquet(builder)
        for name, bounded in (("_generate_tables", self._tables), ("_generate_examples", self._examples)):
            if hasattr(builder, name):
                pieces = self._parquet and name == "_generate_tables"
                original = functools.partial(_in_pieces, builder) if pieces else getattr(builder, name)
                setattr(builder, name, _with_original(bounded, original))
        builder._prepare_split = _with_original(self._prepare, builder._prepare_split)

    def _prepare(self, original: Callable[..., Any], split_generator: Any, **kwargs: Any) -> None:
        self._split = str(split_generator.name)
        try:
            original(split_generator, **kwargs)
        finally:
            self._split = ""

    def _examples(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        began_s = time.perf_counter()
        for number, example in enumerate(original(*args, **kwargs)):
            if number >= self._rows or (number and time.perf_counter() - began_s > SECONDS):
                self.cut.add(self._split)
                return
            yield example

    def _tables(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        if not self._split:  # a look at the first rows, for their types
            yield from original(*args, **kwargs)
            return
        last = None if self._one_chunk else last_part(kwargs) if self._parquet else last_shard(kwargs)
        share = HEAD if last else 1.0
        shard = yield from self._first(original(*args, **kwargs), share)
        if last and self._split in self.cut and (shard < last[1] or self._parquet):
            yield from self._first(original(*args, **last[0]), 1 - HEAD)

    def _first(self, tables: Iterator[Any], share: float) -> Generator[Any, None, int]:
        """Yield tables up to a share of the bound; return the number of the shard that the last of them was of."""
        began_s, rows, size, shard = time.perf_counter(), 0, 0, 0
        for key, table in tables:
            shard = getattr(key, "original_shard_id", 0)
            left = self._bytes * share - size
            room = min(self._rows * share - rows, left / max(table.nbytes, 1) * table.num_rows)
            if rows and (self._one_chunk or time.perf_counter() - began_s > SECONDS * share):
                room = 0
            if room < table.num_rows:
                self.cut.add(self._split)
                if room >= 1 or not rows:
                    yield key, table.slice(0, max(1, int(room)))
                return shard
            rows, size = rows + table.num_rows, size + table.nbytes
            yield key, table
        return shard


def _in_pieces(builder: Any, files: list[Any], row_groups_list: Any = None) -> Iterator[Any]:
    """Yield a Parquet builder's tables, reading no more of a row group than the rows need.

    Each of `files` is a name, or the names that a file was extracted to (before datasets 4).
    """
    config = datasets.DownloadConfig(token=builder.token, storage_options=builder.storage_options)
    names = [name for each in files for name in ([each] if isinstance(each, str) else each)]
    for shard, name in enumerate(names):
        with datasets.utils.file_utils.xopen(name, "rb", download_config=config) as file:
            opened = pq.ParquetFile(file, pre_buffer=False, buffer_size=PIECE)
            groups = _last_group(opened.metadata) if row_groups_list == LAST else None
            for batch in opened.iter_batches(batch_size=BATCH, row_groups=groups):
                yield _Key(shard), builder._cast_table(pa.Table.from_batches([batch]))


def _last_group(parquet: Any) -> list[int]:
    """Return the last row group of a file, none if rows of it may be among the first that were read."""
    before = sum(parquet.row_group(number).num_rows for number in range(parquet.num_row_groups - 1))
    return [parquet.num_row_groups - 1] if before >= ROWS else []


class _Key(NamedTuple):
    """What tells one table of a builder from others."""

    original_shard_id: int


def _plain_parquet(builder: Any) -> bool:
    """True if a builder reads Parquet, as it is in the files."""
    config = builder.config
    set_by_user = [
        getattr(config, name, None) for name in ("columns", "filters", "batch_size", "fragment_scan_options")
    ]
    strict = getattr(config, "on_bad_files", "error") == "error"
    return type(config).__name__ == "ParquetConfig" and strict and not any(one is not None for one in set_by_user)


def last_part(kwargs: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the arguments that generate the last rows of the last file of Parquet, and its number."""
    return {"files": kwargs["files"][-1:], "row_groups_list": LAST}, len(kwargs["files"]) - 1


def last_shard(kwargs: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
    """Return the arguments that generate the last shard alone, and its number; None if there is one."""
    sizes = {len(value) for value in kwargs.values() if isinstance(value, list)}
    if len(sizes) != 1 or (shards := sizes.pop()) < 2:  # noqa: PLR2004 - a last one beside the first
        return None
    return {name: value[-1:] if isinstance(value, list) else value for name, value in kwargs.items()}, shards - 1


def _with_original(around: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: around(original, *args, **kwargs)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Have files of the Hub read by smaller pieces than 5 MB."""
    original = hub.HfFileSystem._open

    def smaller(system: Any, path: str, mode: str = "rb", block_size: Any = None, **kwargs: Any) -> Any:
        return original(system, path, mode, block_size=BLOCK if block_size is None else block_size, **kwargs)

    hub.HfFileSystem._open = smaller
    try:
        yield
    finally:
        hub.HfFileSystem._open = original


def files_of(builder: Any) -> dict[str, list[str]]:
    """Return the files of each split of a builder."""
    found = getattr(builder.config, "data_files", None)
    return {str(split): [str(file) for file in files] for split, files in found.items()} if found else {}


def is_remote(builder: Any) -> bool:
    """True if rows come from elsewhere than this machine."""
    return any("://" in file for files in files_of(builder).values() for file in files)


def is_small(builder: Any) -> bool:
    """True if all files are on this machine and hold little."""
    files = [file for each in files_of(builder).values() for file in each]
    return bool(files) and not is_remote(builder) and sum(map(_bytes, files)) <= BYTES


def _bytes(file: str) -> int:
    size = Path(file).stat().st_size if Path(file).is_file() else 0
    return size * COMPRESSION if file.endswith(COMPRESSED) else size


def rows_of(builder: Any, split: str, known: Any) -> float:
    """Return the number of rows in a split, by its card or its files; infinite where neither states it."""
    info = (known or {}).get(split)
    if info is not None and info.num_examples:
        return int(info.num_examples)
    files = files_of(builder).get(split, [])
    return math.inf if not files or is_remote(builder) else _count_rows(files)


def _count_rows(files: list[str]) -> float:
    """Return the number of rows in files of this machine; infinite where counting them would take long."""
    if all(file.endswith(".parquet") for file in files):
        return sum(map(_parquet_rows, files))
    if all(file.endswith(LINES) for file in files) and sum(map(_bytes, files)) <= COUNTED_BYTES:
        return sum(map(_lines, files))
    return math.inf


def _parquet_rows(file: str) -> int:
    return int(pq.read_metadata(file).num_rows)


def _lines(file: str) -> float:
    """Return the lines of a file; infinite if it is one value of JSON."""
    with Path(file).open("rb") as opened:
        block = opened.read(1 << 20)
        if block.lstrip()[:1] == b"[":
            return math.inf
        count = 0
        while block:
            count += block.count(b"\n")
            block = opened.read(1 << 24)
    return count
