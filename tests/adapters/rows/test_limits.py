"""What is in memory at once is bounded, whatever the rows are, and what is beyond the bounds has a clear error."""

import io
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Final, Literal

import polars as pl
import pytest

from holdfast.adapters.rows import arrow_rows
from holdfast.adapters.rows.csv_text import pandas_names
from holdfast.adapters.rows.footer import RowGroup
from holdfast.adapters.rows.limits import MOST_COLUMNS, PART_BYTES, slices_of
from holdfast.adapters.rows.opening import open_rows
from holdfast.adapters.rows.parquet_rows import parts_of
from holdfast.adapters.rows.pieces import MOST_BROKEN
from holdfast.core.errors import SourceError


@pytest.mark.parametrize("inside", [True, False])
def test_rows_that_each_have_their_own_keys_are_not_spread_out(tmp_path: Path, inside: bool) -> None:
    """Each key would be a column with a value in every row: 20,000 such rows took 5 GB."""
    rows = ({f"k{number}": number} for number in range(MOST_COLUMNS + 10))
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"meta": row} if inside else row) + "\n" for row in rows), encoding="utf-8")

    with pytest.raises(SourceError, match="more than 10,000 columns and keys"):
        open_rows(path)


@pytest.mark.parametrize("name", ["c", "c{}"])
def test_a_header_of_200_000_columns_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """Also where they all have one name, which pandas numbers."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(name.format(number) for number in range(200_000)) + "\n1\n", encoding="utf-8")

    with pytest.raises(SourceError, match="more than 10,000 columns"):
        open_rows(path)
    assert pandas_names(["c"] * 30_000)[-1] == "c.29999"


@pytest.mark.parametrize("digits", [300, 400, 5000, 10_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_any_length_is_the_float_that_load_dataset_makes_of_it(
    tmp_path: Path, digits: int, sign: str
) -> None:
    """Tried with datasets 5.2: infinite from 309 digits on."""
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"a": 1}}\n{{"a": {sign}{"9" * digits}}}\n', encoding="utf-8")
    rows = open_rows(path)
    (batch,) = rows.batches()

    assert not rows.broken
    assert batch.frame["a"].to_list() == [1.0, float(f"{sign}1e{digits}" if digits < 309 else f"{sign}inf")]


def test_a_row_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    """The others are read; Arrow's schemas end at 64 levels."""
    deep = '{"a": ' * 70 + "1" + "}" * 70
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"a": "x"}}\n{deep}\n{{"a": "y"}}\n', encoding="utf-8")
    rows = open_rows(path)
    read = [value for batch in rows.batches() for value in batch.frame["a"].to_list()]

    assert read == ["x", "y"]
    assert [(part.row, part.line) for part in rows.broken] == [(1, 2)]
    assert "64 levels" in rows.broken[0].what


def test_csv_with_a_fault_in_every_other_row_is_left_after_a_hundred(tmp_path: Path) -> None:
    """And not taken apart into thousands of frames first."""
    path = tmp_path / "rows.csv"
    path.write_text("a\nx\n" + "1,2\ny\n" * 5000, encoding="utf-8")
    rows = open_rows(path)

    assert sum(1 for _ in rows.batches()) <= MOST_BROKEN + 1
    assert "what follows is not looked at" in rows.broken[-1].what


@pytest.mark.parametrize("kind", [pl.Categorical, pl.String])
def test_a_text_that_stands_in_many_rows_is_written_out_in_parts(kind: type[pl.DataType]) -> None:
    """A file of a few hundred bytes may be gigabytes of rows."""
    frame = pl.DataFrame({"text": pl.Series(["a" * (1 << 20)] * 200, dtype=pl.Categorical).cast(kind)})
    parts = list(slices_of(frame))

    assert sum(part.height for part in parts) == 200
    assert max(part.height for part in parts) << 20 <= 2 * PART_BYTES


def test_a_row_group_of_many_rows_is_read_in_parts() -> None:
    """50 million small numbers are a few kilobytes on the disk."""
    parts = list(parts_of([RowGroup(50_000_000, 1000)], width=2))

    assert sum(rows for _, rows in parts) == 50_000_000
    assert max(rows for _, rows in parts) <= 1_000_000


def test_a_footer_that_promises_rows_which_are_not_there_is_reported(tmp_path: Path) -> None:
    """Its counts are not believed."""
    path = tmp_path / "rows.parquet"
    made = io.BytesIO()
    pl.DataFrame({"a": range(100)}).write_parquet(made)
    data = made.getvalue()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # The rows of the file, and of its one group; 100 and 8000 are two bytes each.
    path.write_bytes(data[:footer] + data[footer:].replace(b"\xc8\x01", b"\x80\x7d"))
    rows = open_rows(path)

    with pytest.raises(SourceError, match=r"rows\.parquet"):
        list(rows.batches())
    assert rows.broken


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_a_record_batch_that_unpacks_to_more_than_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: Literal["zstd", "lz4", "uncompressed"]
) -> None:
    """Its buffers say how large they are before they are unpacked."""
    path = tmp_path / "rows.arrow"
    pl.DataFrame({"a": [0] * 100_000}).write_ipc_stream(path, compression=compression)
    assert sum(batch.frame.height for batch in open_rows(path).batches()) == 100_000

    monkeypatch.setattr(arrow_rows, "LARGEST_BATCH_BYTES", 700_000)
    with pytest.raises(SourceError, match="a record batch of"):
        list(open_rows(path).batches())


LONG: Final = "🙂" + "x" * 12_000_000
"""More than is read at once, and of four bytes a character in Python."""
CELLS: Final = {
    "long.csv": f'a,b\nc,"{LONG}"\nd,e\n',
    "long.tsv": f"a\tb\nc\t{LONG}\nd\te\n",
    "lines.csv": 'a,b\nc,"🙂' + "ab, c\n" * 300_000 + '"\nd,e\n',
    "long.json": json.dumps([{"a": "b"}, {"a": LONG}], ensure_ascii=False),
    "long.jsonl": "".join(json.dumps({"a": text}, ensure_ascii=False) + "\n" for text in ("b", LONG)),
    "long.txt": f"{LONG}\nb\n",
}


@pytest.mark.parametrize(("name", "text"), CELLS.items(), ids=CELLS)
def test_a_long_cell_is_not_in_memory_many_times(tmp_path: Path, name: str, text: str) -> None:
    """Of 60 MB, one took up to 1.6 GB: copies of it, or a list of its lines."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    open_rows(tmp_path / name)  # what is imported or made once is not counted
    tracemalloc.start()
    try:
        read = sum(batch.frame.height for batch in open_rows(path).batches())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert read == 2
    assert peak < 18 * len(text) if name == "lines.csv" else peak < 16.5 * len(text)


@pytest.mark.parametrize("length", [0, 1 << 20, 1 << 27, (1 << 32) - 1])
def test_absurd_lengths_of_a_parquet_footer_are_damage(tmp_path: Path, length: int) -> None:
    """It is not read, and nothing of that size is made."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\xff" * 5000 + struct.pack("<I", length) + b"PAR1")

    with pytest.raises(SourceError, match=r"cut off|damaged"):
        open_rows(path)
