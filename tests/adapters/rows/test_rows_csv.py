"""CSV and text files are read as `datasets` reads them, or it is said where and why it stops."""

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.rows import csv_rows
from holdfast.adapters.rows.opening import rows_of_files
from holdfast.adapters.rows.sources import opened
from holdfast.core.errors import HoldfastError
from tests.helpers.rows_truth import Table, ask_datasets, read

GOOD: dict[str, str | bytes] = {
    "integers and text": "a,b\n1,x\n2,y\n",
    "an integer missing": "a,b\n1,x\n,y\n",
    "integers and fractions": "a\n1\n2.5\n",
    "NA": "a,b\nNA,x\n1,null\n",
    "texts that are no value": 'a,b\nNone,1\nnan,1\nx,1\nN/A,1\n"",1\n',
    "truth": "a,b\nTrue,true\nFalse,FALSE\n",
    "truth missing": "a,b\nTrue,1\n,2\n",
    "truth and text": "a\nTrue\nx\n",
    "numbers and text": "a\n1\nx\n",
    "leading zeros": "a\n001\n002\n",
    "dates": "a\n2020-01-01\n",
    "one cell less": "a,b\n1,2\n1\n",
    "one cell more in all rows": "a,b\n1,2,3\n4,5,6\n",
    "a comma more in all rows": "a,b\n1,2,\n3,4,\n",
    "blank lines": "a,b\n\n1,2\n\n",
    "blank lines of one column": "a\n1\n\n2\n",
    "a line of blanks": "a,b\n1,2\n   \n",
    "carriage returns": 'a,b\r\n1,"x\r\ny"\r\n',
    "only carriage returns": "a,b\r1,2\r",
    "byte order mark": b"\xef\xbb\xbfa,b\n1,2\n",
    "names twice": "a,a,\n1,2,3\n",
    "quotes": 'a,b\n"x ""q"" y",z\n',
    "quotes amid text": 'a,b\nx"y,1\n"x"y,2\n',
    "semicolons": "a;b\n1;2\n",
    "NUL": b"a,b\nx\x00y,2\n",
    "infinity": "a\ninf\n-inf\n1\n",
    "exponents": "a\n1e5\n2\n",
    "signs": "a\n+1\n2\n",
    "blanks round numbers": "a\n 1\n2 \n",
    "nothing but missing": "a,b\n,1\n,2\n",
    "thousands": 'a\n"1,000"\n',
    "underscores": "a\n1_000\n",
    "a comma more everywhere": "a,b,\n1,2,\n3,4,\n",
    "a break in quotes": 'a,b\n"x\ny",2\nz,3\n',
}
BAD: dict[str, tuple[str | bytes, str]] = {
    "one cell more": ("a,b\n1,2\n1,2,3\n", "3 cells, and 2 in the first rows"),
    "Latin-1": ("a,b\n1,\xe9\n".encode("latin-1"), "not UTF-8"),
    "only a header": ("a,b\n", "holds no rows"),
    "empty": ("", "holds no rows"),
    "only line breaks": ("\n", "holds no rows"),
    "a quote that is open": ('a,b\n1,2\n"x,1\ny,2\n', "a quote that nothing closes"),
    "no text at all": (b"\x00\x01\x02\xff\xfe,\n\x00", "not UTF-8"),
}
# What comes after the rows that decide on the types: first rows, later rows, and what is said; nothing of good ones.
LATER: dict[str, tuple[str, str, str, str]] = {
    "text where integers were": ("a", "1", "x", "`a` is 'x' here, and integer"),
    "integers where text was": ("a", "x", "1", ""),
    "fractions where integers were": ("a", "1", "1.5", "`a` is '1.5' here"),
    "whole numbers where integers were": ("a", "1", "2.0", ""),
    "nothing where integers were": ("a,b", "1,1", ",1", ""),
    "text where nothing was": ("a,b", ",1", "x,1", "`a` is 'x' here, and float"),
    "nothing where text was": ("a,b", "x,1", ",1", ""),
    "integers where fractions were": ("a", "1.5", "1", ""),
    "text where truth was": ("a", "True", "x", "`a` is 'x' here, and boolean"),
    "nothing where truth was": ("a,b", "True,1", ",1", ""),
    "more cells": ("a,b", "1,1", "1,2,3", "3 cells, and 2"),
}
# Several files: of each, its text; and what is said.
FILES: dict[str, tuple[tuple[str, str], str]] = {
    "another type": (("a\n1\n", "a\nx\n"), "a: string, not a: integer"),
    "one more column": (("a\n1\n", "a,b\n1,2\n"), "b: integer, not"),
    "one column less": (("a,b\n1,2\n", "a\n1\n"), "not a: integer, b: integer"),
    "columns in another order": (("a,b\n1,2\n", "b,a\n1,2\n"), "b: integer, a: integer, not a: integer"),
    "an empty one": (("a\n1\n", ""), "holds no rows"),
    "the same": (("a\n1\n", "a\n2\n"), ""),
}
TEXTS: dict[str, str | bytes] = {
    "lines": "a\nb\n",
    "blank lines": "a\n\nb",
    "carriage returns": "a\r\nb\rc\n",
    "byte order mark": b"\xef\xbb\xbfa\n",
    "a blank line": "\n",
    "other breaks": "a\u2028b\x85c\x0bd\n",
}
ROWS = 5


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def ours(*paths: Path) -> Table:
    try:
        return read(rows_of_files({"train": paths}, "train", paths[0]))
    except HoldfastError as error:
        return Table(error=error.what)


@pytest.mark.train
def test_csv(tmp_path: Path) -> None:
    """Types and rows of a short file are those of `datasets`; what it refuses is refused."""
    texts = GOOD | {name: text for name, (text, _) in BAD.items()}
    paths = {name: write(tmp_path / f"{name}.csv", text) for name, text in texts.items()}
    truth = ask_datasets(tmp_path, {name: ("csv", [str(path)], {}, "train") for name, path in paths.items()})

    for name in GOOD:
        assert not truth[name].error, name
        assert replace(ours(paths[name]), broken=()) == truth[name], name
        assert bool(ours(paths[name]).broken) == (name == "semicolons"), name
    for name in BAD:
        assert truth[name].error, name


@pytest.mark.parametrize("name", BAD)
def test_what_is_said_of_bad_csv(tmp_path: Path, name: str) -> None:
    """What cannot be read is told."""
    text, why = BAD[name]
    told = ours(write(tmp_path / "x.csv", text))

    assert why in told.error + " ".join(broken.what for broken in told.broken)


@pytest.mark.train
def test_later_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the first rows is cast or refused as by `datasets`; rows that can be read are read."""
    monkeypatch.setattr(csv_rows, "CHUNK_ROWS", ROWS)
    cases: dict[str, Any] = {}
    for name, (header, first, later, _) in LATER.items():
        path = write(tmp_path / f"{name}.csv", f"{header}\n" + f"{first}\n" * ROWS + f"{later}\n{first}\n")
        cases[name] = ("csv", [str(path)], {"chunksize": ROWS}, "train")
    truth = ask_datasets(tmp_path, cases)

    for name, (_, _, _, said) in LATER.items():
        told = ours(Path(cases[name][1][0]))
        assert bool(truth[name].error) == bool(said), name
        if said:
            assert said in told.broken[0].what, name
            assert (told.broken[0].line, told.broken[0].row) == (ROWS + 2, ROWS), name
            assert len(told.rows["a"]) == ROWS + 1, name
        else:
            assert told == truth[name], name


@pytest.mark.train
def test_several_csv(tmp_path: Path) -> None:
    """Files of other columns are not read into the first one's."""
    cases: dict[str, Any] = {}
    for name, (texts, _) in FILES.items():
        paths = [write(tmp_path / f"{name} {number}.csv", text) for number, text in enumerate(texts)]
        cases[name] = ("csv", [str(path) for path in paths], {}, "train")
    truth = ask_datasets(tmp_path, cases)

    for name, (_, said) in FILES.items():
        told = ours(*map(Path, cases[name][1]))
        assert bool(truth[name].error) == bool(said), name
        assert said in "".join(broken.what for broken in told.broken), name


@pytest.mark.train
def test_text(tmp_path: Path) -> None:
    """A line is a row."""
    paths = {name: write(tmp_path / f"{name}.txt", text) for name, text in TEXTS.items()}
    truth = ask_datasets(tmp_path, {name: ("text", [str(path)], {}, "train") for name, path in paths.items()})

    for name in TEXTS:
        assert ours(paths[name]) == truth[name], name
    assert "not UTF-8" in ours(write(tmp_path / "latin.txt", b"a\n\xe9\n")).broken[0].what
    assert "holds no rows" in ours(write(tmp_path / "empty.txt", "")).error


def test_what_a_quote_swallows_is_bounded(tmp_path: Path) -> None:
    """A quote that nothing closes does not bring all of a large file into one cell."""
    path = write(tmp_path / "x.csv", 'a,b\n1,2\n"x,' + f"{'3' * 4000},4\n" * 20_000)
    told = ours(path)

    assert told.rows == {"a": [1], "b": [2]}
    assert "a row of more than 40 MB" in told.broken[0].what


@pytest.mark.parametrize(
    ("sign", "shown", "delimiter"), [(";", ";", ","), ("\t", "\\t", ","), ("|", "|", ","), (",", ",", "\t")]
)
def test_columns_with_another_separator(tmp_path: Path, sign: str, shown: str, delimiter: str) -> None:
    """Excel writes semicolons in many countries: `load_dataset` makes one column of them; the separator is named."""
    path = tmp_path / "x.csv"
    path.write_text(f"prompt{sign}completion\na{sign}b\n")

    problems = csv_rows.look_at_csv(path, delimiter).problems
    assert [f"separated by `{shown}`" in each.what and f'sep="{shown}"' in each.what for each in problems] == [True]
    path.write_text("what is said; and why it is, of course\na\n")
    assert not csv_rows.look_at_csv(path).problems


@pytest.mark.parametrize(
    ("rows", "moved"),
    [
        (("Well, what is it?,no", "Why?,so"), True),
        (("Well, what is it?,no", "Well, why?,so"), True),
        (("1,Why?,so", "2,How?,thus"), False),
        (("Why?,so", "How?,thus"), False),
    ],
    ids=["one comma", "the same comma in each row", "names of rows, as R writes them", "no comma"],
)
@pytest.mark.parametrize("sign", [",", "\t"])
def test_cells_that_an_unquoted_separator_moves_are_told(
    tmp_path: Path, rows: tuple[str, ...], sign: str, *, moved: bool
) -> None:
    """Pandas takes the first cell for the name of its row where the first row has one more than the header, and says nothing."""
    text = "\n".join(("prompt,completion", *rows)).replace(",", sign)
    table = ours(write(tmp_path / ("x.csv" if sign == "," else "x.tsv"), text))
    told = [f"{broken.line}: {broken.what}" for broken in table.broken]
    assert bool(told) == moved
    assert all(
        each.startswith("2: 3 cells, and 2 in the header") and "put quotes around a text" in each for each in told
    )


def test_a_cell_of_very_many_lines_takes_bounded_memory(tmp_path: Path) -> None:
    """Each of its lines as a text of its own would double it."""
    cell = "a\n" * 200_000
    (tmp_path / "d.csv").write_text(f'text\nx\n"{cell}"\n')
    tracemalloc.start()
    try:
        with opened(tmp_path / "d.csv") as source:
            cells = [row.cells for row in csv_rows.CsvRecords(tmp_path / "d.csv", source).records()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    size = len(cell)
    assert [len(each) for (each,) in cells] == [1, size]
    assert peak < 35 * size
