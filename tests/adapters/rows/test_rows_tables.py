"""Parquet and Arrow, folders of several files, slices and archives: all rows, or what is wrong with them."""

import bz2
import gzip
import json
import lzma
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from holdfast.adapters.rows import json_text, sources
from holdfast.adapters.rows.footer import read_footer
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.opening import FileRows, open_rows, rows_of_files
from holdfast.catalog.data.slices import parse_slices
from holdfast.core.errors import HoldfastError, SourceError, UsageError
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct
from tests.helpers.rows_truth import Table, ask_datasets, read, without_times
from tests.helpers.sampling import sampled

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

# Tables, as pyarrow has them: of each file, its columns.
TABLES: dict[str, list[dict[str, Any]]] = {
    "one": [{"a": [1, 2], "b": ["x", None]}],
    "two alike": [{"a": [1]}, {"a": [2]}],
    "narrower": [{"a": pa.array([1], pa.int64())}, {"a": pa.array([2], pa.int8())}],
    "floats": [{"a": pa.array([1.5], pa.float64())}, {"a": pa.array([2.5], pa.float32())}],
    "integers for floats": [{"a": [1.5]}, {"a": [2]}],
    "floats for integers": [{"a": [1]}, {"a": [2.5]}],
    "whole floats for integers": [{"a": [1]}, {"a": [2.0]}],
    "integers for texts": [{"a": ["x"]}, {"a": [2]}],
    "texts for integers": [{"a": [1]}, {"a": ["x"]}],
    "null for texts": [{"a": ["x"]}, {"a": pa.nulls(1)}],
    "texts for null": [{"a": pa.nulls(1), "b": [1]}, {"a": ["x"], "b": [1]}],
    "a column less": [{"a": [1], "b": ["x"]}, {"a": [2]}],
    "a column more": [{"a": [1]}, {"a": [2], "b": ["x"]}],
    "another order": [{"a": [1], "b": ["x"]}, {"b": ["y"], "a": [2]}],
    "messages": [{"m": [[{"r": "u", "c": "x"}], None, []]}],
    "messages with a key less": [{"m": [[{"r": "u", "c": "x"}]]}, {"m": [[{"r": "u"}]]}],
    "messages with a key more": [{"m": [[{"r": "u"}]]}, {"m": [[{"r": "u", "c": "x"}]]}],
    "messages with other keys first": [{"m": [[{"r": "u", "c": "x"}]]}, {"m": [[{"c": "x", "r": "u"}]]}],
    "a list for text": [{"a": ["x"]}, {"a": [["x"]]}],
    "large texts": [{"a": pa.array(["x"], pa.large_string())}, {"a": ["y"]}],
    "dictionaries": [{"a": pa.array(["x", "y", "x"]).dictionary_encode()}],
    "bytes": [{"a": [b"x"]}],
    "truth": [{"a": [True, None]}],
    "times": [
        {"a": pa.array([1], pa.timestamp("ms")), "b": pa.array([1], pa.date32()), "c": pa.array([1], pa.duration("s"))}
    ],
    "fixed lists": [{"a": pa.array([[1, 2]], pa.list_(pa.int32(), 2))}],
    "no rows": [{"a": pa.array([], pa.int64())}],
    "no rows first": [{"a": pa.array([], pa.int64())}, {"a": [1]}],
    "unsigned": [{"a": pa.array([1, 255], pa.uint8())}],
    "lists of lists": [{"a": [[[1], []], None]}],
}


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    pq.write_table(pa.table(columns), path)


def write_stream(path: Path, columns: dict[str, Any]) -> None:
    table = pa.table(columns)
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def write_file(path: Path, columns: dict[str, Any]) -> None:
    table = pa.table(columns)
    with path.open("wb") as file, pa.ipc.new_file(file, table.schema) as stream:
        stream.write_table(table)


def write_polars(path: Path, columns: dict[str, Any]) -> None:
    cast("pl.DataFrame", pl.from_arrow(pa.table(columns))).write_ipc(path, compression="zstd")


KINDS = {
    "parquet": ("parquet", write_parquet),
    "stream": ("arrow", write_stream),
    "file": ("arrow", write_file),
    "polars": ("arrow", write_polars),
}


def ours(*paths: Path) -> Table:
    try:
        return read(rows_of_files({"train": paths}, "train", paths[0]))
    except HoldfastError as error:
        return Table(error=error.what)


@pytest.mark.train
@pytest.mark.parametrize("kind", KINDS)
def test_tables(tmp_path: Path, kind: str) -> None:
    """Types and rows are those of `datasets`; where it raises, something is broken."""
    suffix, write = KINDS[kind]
    cases: dict[str, Any] = {}
    # `datasets` takes no dictionaries of polars, which are of string views.
    for name, tables in (
        (name, tables) for name, tables in TABLES.items() if (kind, name) != ("polars", "dictionaries")
    ):
        paths = [tmp_path / f"{name} {number}.{suffix}" for number in range(len(tables))]
        for path, columns in zip(paths, tables, strict=True):
            write(path, columns)
        cases[name] = (suffix, [str(path) for path in paths], {}, "train")
    truth = ask_datasets(tmp_path, cases)

    for name, (_, files, *_) in cases.items():
        told = ours(*map(Path, files))
        refused = bool(truth[name].error) or not any(truth[name].rows.values())
        assert bool(told.broken or told.error) == refused, (name, truth[name], told)
        if not refused:
            assert without_times(told) == without_times(truth[name]), name


@pytest.mark.train
def test_what_datasets_tells_of_types(tmp_path: Path) -> None:
    """Classes, pictures and JSON are told by what `datasets` leaves in the file, in each of its formats."""
    program = f"""
import datasets
features = datasets.Features({{
    "messages": datasets.List({{"role": datasets.Value("string"), "content": datasets.Json()}}),
    "label": datasets.ClassLabel(names=["bad", "good"]),
    "image": datasets.Image(),
    "images": datasets.List(datasets.Image()),
    "tools": datasets.Json(),
}})
picture = {{"bytes": b"x", "path": None}}
row = {{
    "messages": [{{"role": "user", "content": [1]}}], "label": 1, "image": picture, "images": [picture], "tools": {{"a": [1]}}
}}
made = datasets.Dataset.from_list([row] * 3, features=features)
made.save_to_disk({str(tmp_path / "saved")!r})
datasets.DatasetDict({{"train": made, "test": made}}).save_to_disk({str(tmp_path / "both")!r})
made.to_parquet({str(tmp_path / "x.parquet")!r})
"""
    run_python(program)
    wanted = {
        "messages": ListOf(Struct({"role": STRING, "content": Scalar("json")})),
        "label": Scalar("integer", ("bad", "good")),
        "image": Scalar("image"),
        "images": ListOf(Scalar("image")),
        "tools": Scalar("json"),
    }

    for path, split in ((tmp_path / "x.parquet", "train"), (tmp_path / "saved", "train"), (tmp_path / "both", "test")):
        rows = open_rows(path, split)
        (batch,) = rows.batches()
        assert dict(rows.columns) == wanted
        assert batch.frame["tools"].to_list() == ['{"a":[1]}'] * 3
        assert batch.frame["messages"].to_list()[0] == [{"role": "user", "content": "[1]"}]
        assert batch.frame["label"].to_list() == [1, 1, 1]


def run_python(program: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True)


def numbered(path: Path, rows: int, *, group: int) -> Path:
    texts = [f"{number} " + "abcdefghij"[number % 7 :] * 20 for number in range(rows)]
    pq.write_table(pa.table({"a": range(rows), "t": texts}), path, row_group_size=group, use_dictionary=False)
    return path


def numbers_of(rows: FileRows) -> list[int]:
    numbers: list[int] = []
    for batch in rows.batches():
        assert batch.frame["a"].to_list() == list(range(batch.start, batch.start + batch.frame.height))
        numbers += batch.frame["a"].to_list()
    return numbers


def test_a_parquet_file_that_is_cut_off(tmp_path: Path) -> None:
    """It has no footer, which is said; whatever its length, there is no traceback."""
    path = numbered(tmp_path / "x.parquet", 1000, group=100)
    content = path.read_bytes()
    for length in (0, 3, 4, 11, 1000, len(content) - 5, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(BadDataError, match=r"cut off|not a Parquet file"):
            open_rows(path)


def test_a_damaged_page(tmp_path: Path) -> None:
    """Rows before and behind it are read and keep their numbers; those of the page are told."""
    path = numbered(tmp_path / "x.parquet", 200_000, group=20_000)
    content = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(5).column(1)
    place = column.data_page_offset + column.total_compressed_size // 2
    content[place : place + 200] = bytes(200)
    path.write_bytes(content)
    rows = open_rows(path)
    numbers = numbers_of(rows)

    assert "cannot be read" in rows.broken[0].what
    missing = set(range(200_000)) - set(numbers)
    assert set(range(100_000, 120_000)) <= missing
    assert len(missing) <= 60_000
    assert rows.broken[0].row == min(missing)


def test_bytes_changed_at_random(tmp_path: Path) -> None:
    """Whatever stands in a file, there is no traceback and no hang."""
    chosen = random.Random(7)  # noqa: S311 - no secret
    table = {"a": list(range(300)), "t": [f"text {number}" for number in range(300)], "m": [[{"r": "u"}]] * 300}
    for kind, (suffix, write) in KINDS.items():
        path = tmp_path / f"{kind}.{suffix}"
        write(path, table)
        whole = path.read_bytes()
        for _ in range(60):
            content = bytearray(whole)
            for _ in range(chosen.randint(1, 8)):
                content[chosen.randrange(len(content))] = chosen.randrange(256)
            path.write_bytes(content[: chosen.choice((len(content), chosen.randrange(len(content))))])
            ours(path)


def test_slices(tmp_path: Path) -> None:
    """A slice has the rows that it asks for, numbered from 0; a sum has those of each part, one after another."""
    for name, start in (("train", 0), ("test", 1000)):
        lines = "".join(f'{{"a": {number}}}\n' for number in range(start, start + 100))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    wanted = {
        "train[:10%]": list(range(10)),
        "train[90%:]": list(range(90, 100)),
        "train[-5:]": list(range(95, 100)),
        "train[3:5]+test[:2]": [3, 4, 1000, 1001],
        "train[95:]+test[98:]": [95, 96, 97, 98, 99, 1098, 1099],
        "test": list(range(1000, 1100)),
        "all": [*range(100), *range(1000, 1100)],
    }
    for split, numbers in wanted.items():
        rows, found, next_row = open_rows(tmp_path, split), list[int](), 0
        for batch in rows.batches():
            assert batch.start == next_row
            next_row += batch.frame.height
            found += batch.frame["a"].to_list()
        assert found == numbers, split


@pytest.mark.train
def test_slices_as_datasets_has_them() -> None:
    """Bounds are rounded as `datasets` rounds them, and what is no slice is none to both."""
    arrow_reader = pytest.importorskip("datasets.arrow_reader")
    good = ["train", "train[:10%]", "train[33%:66%]", "train[-1%:]", "train[5:]", "train[:-5]", "train[1_0:20]", "train[:1000]",
            "train[50%:10%]", "train[:33%](pct1_dropremainder)"]  # fmt: skip
    for text in good:
        for rows in (100, 149, 1001):
            (bounds,) = arrow_reader.ReadInstruction.from_spec(text).to_absolute({"train": rows})
            (part,) = parse_slices(text)
            assert part.rows(rows) == range(bounds.from_, bounds.to), text
    for text in (
        "train[",
        "train[:10",
        "train[a:b]",
        "",
        "tr-ain",
        "train[:101%]",
        "train[:10%](up)",
        "train(closest)",
        "train[_1:]",
    ):
        with pytest.raises(ValueError, match=r"."):
            arrow_reader.ReadInstruction.from_spec(text).to_absolute({"train": 100})
        with pytest.raises(UsageError):
            parse_slices(text)


def test_a_broken_place_within_a_slice(tmp_path: Path) -> None:
    """What is broken outside of the slice is not told."""
    lines = [f'{{"a": {number}}}' for number in range(100)]
    lines[50] = "{"
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    outside, inside = open_rows(tmp_path / "x.jsonl", "train[:40]"), open_rows(tmp_path / "x.jsonl", "train[40:]")

    assert sum(batch.frame.height for batch in outside.batches()) == 40
    assert not outside.broken
    assert [batch.start for batch in inside.batches()] == [0, 11]
    assert [(broken.line, broken.row) for broken in inside.broken] == [(51, 10)]


ARCHIVES: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", sampled(ARCHIVES, 3))
def test_archives(tmp_path: Path, suffix: str) -> None:
    """A compressed file is read; of one that is cut off, what is left, and that it is cut off."""
    chosen = random.Random(1)  # noqa: S311 - no secret
    lines = [json.dumps({"a": number, "t": chosen.random()}) for number in range(60_000)]
    packed = ARCHIVES[suffix]("\n".join(lines).encode())
    path = tmp_path / f"x.jsonl{suffix}"
    path.write_bytes(packed)
    assert numbers_of(open_rows(path)) == list(range(60_000))

    path.write_bytes(packed[: len(packed) * 3 // 4])
    rows = open_rows(path)
    numbers = numbers_of(rows)
    assert 10_000 < len(numbers) < 60_000
    assert "the archive is cut off" in rows.broken[-1].what


def test_an_archive_under_another_name(tmp_path: Path) -> None:
    """Archives are known by how they begin, as `datasets` knows them."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))

    assert ours(path).rows == {"a": [1]}


def test_several_files(tmp_path: Path) -> None:
    """Shards are one table, numbered through; one that nobody can read is told, and the others are read."""
    for number in range(3):
        lines = "".join(f'{{"a": {row}}}\n' for row in range(number * 10, number * 10 + 10))
        (tmp_path / f"{number}.jsonl").write_text(lines)
    assert numbers_of(open_rows(tmp_path)) == list(range(30))

    (tmp_path / "1.jsonl").write_bytes(b"\x80\x03binary\xff" * 10)
    rows = open_rows(tmp_path)
    assert [row for batch in rows.batches() for row in batch.frame["a"].to_list()] == [*range(10), *range(20, 30)]
    assert "not UTF-8" in rows.broken[0].what


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """Each has its reason, and none a traceback."""
    empty, binary, other = (
        tmp_path / "empty.jsonl",
        tmp_path / "b.jsonl",
        tmp_path / "x.docx",
    )
    empty.write_bytes(b"")
    binary.write_bytes(bytes(range(256)) * 100)
    other.write_bytes(b"x")
    (tmp_path / "bare").mkdir()
    said = {
        empty: "holds no rows",
        binary: "not UTF-8|not JSON",
        other: "of no known kind",
        tmp_path / "nowhere.jsonl": "no such file or folder",
        tmp_path / "bare": "no data files",
    }
    for path, why in said.items():
        with pytest.raises(SourceError, match=why):
            open_rows(path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is told as such, beside others and alone."""
    (tmp_path / "a.jsonl").write_text('{"a": 0}\n')
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    opens = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if str(path).endswith("b.jsonl"):
            raise PermissionError(13, "Permission denied", str(path))
        return opens(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    rows = open_rows(tmp_path)

    assert numbers_of(rows) == [0]
    assert "Permission denied" in rows.broken[0].what
    with pytest.raises(BadDataError, match="Permission denied"):
        open_rows(tmp_path / "b.jsonl")


def test_footers_of_others(tmp_path: Path) -> None:
    """Types are read from the footer where nobody left a schema of Arrow's in it."""
    table = pa.table(
        {
            "m": [[{"role": "u", "parts": [1.5]}]], "s": ["x"], "b": [b"x"], "d": pa.array([1], pa.date32()),
            "n": pa.nulls(1), "u": pa.array([1], pa.uint16()), "t": [True], "z": pa.array([1], pa.timestamp("us")),
            "deep": [[[1]]], "dec": pa.array([1], pa.decimal128(5, 2)),
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "x.parquet", store_schema=False)
    found = {name: str(kind) for name, kind in read_footer(tmp_path / "x.parquet").columns.items()}

    assert found == {
        "m": "list<struct<role: string, parts: list<float>>>", "s": "string", "b": "binary", "d": "time", "n": "null",
        "u": "integer", "t": "boolean", "z": "time", "deep": "list<list<integer>>", "dec": "float",
    }  # fmt: skip


def test_one_huge_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond all bounds is told, not read; the rows around it are."""
    for module in (json_text, sources):
        monkeypatch.setattr(module, "LARGEST_LINE_BYTES", 1 << 20)
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 0}\n' + '{"a": "' + "x" * (30 << 20) + '"}\n{"a": 2}\n')
    told = ours(path)

    assert told.rows == {"a": [0, 2]}
    assert [(broken.line, broken.row) for broken in told.broken] == [(2, 1)]
    assert "a line of more than 1 MB" in told.broken[0].what


def test_one_large_array(tmp_path: Path) -> None:
    """An array is read element by element, over the borders of what is read at once."""
    rows: Sequence[dict[str, Any]] = [{"a": number, "t": 'é\\" ]},{[' * (number % 50)} for number in range(20_000)]
    (tmp_path / "x.json").write_text(json.dumps(rows, ensure_ascii=False))
    (tmp_path / "y.json").write_text(json.dumps(rows, indent=1))

    for name in ("x.json", "y.json"):
        assert numbers_of(open_rows(tmp_path / name)) == list(range(20_000))


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.csv.gz"])
def test_an_archive_that_is_cut_off_is_not_called_empty(tmp_path: Path, name: str) -> None:
    """Of a small one no row can be read."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(b'{"a":"b"}\n' * 5)[:12])

    with pytest.raises(SourceError, match="the archive is cut off"):
        open_rows(path)
