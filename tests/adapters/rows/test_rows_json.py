"""JSON and JSON Lines are read as `datasets` reads them, or it is said where and why it stops."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.rows import opening
from holdfast.adapters.rows.json_rows import look_at_json, read_json
from holdfast.adapters.rows.opening import rows_of_files
from holdfast.adapters.rows.pieces import Format
from holdfast.core.errors import HoldfastError
from tests.helpers.rows_truth import Table, ask_datasets, read, without_times

# Texts of files that `load_dataset` reads, with the same types and rows.
GOOD: dict[str, str | bytes] = {
    "mixed values": '{"a":1}\n{"a":"x"}\n{"a":[1]}\n{"a":{"b":1}}\n{"a":null}\n{"a":"[2]"}',
    "bool and int": '{"a":true}\n{"a":1}\n',
    "int and text": '{"a":1}\n{"a":"x"}\n',
    "a column in the second row": '{"a":1}\n{"a":2,"b":1}\n',
    "uneven messages": '{"m":[{"r":"u","c":"x"},{"r":"u","c":"x","n":null}]}\n',
    "uneven objects": '{"m":{"r":"u"}}\n{"m":{"c":"x"}}\n',
    "content of two types": '{"m":[{"c":"x"}]}\n{"m":[{"c":[{"t":1}]}]}\n',
    "int and float": '{"a":1}\n{"a":1.5}\n',
    "int and float in lists": '{"a":[1]}\n{"a":[1.5]}\n',
    "a list of two types": '{"m":[1,"x"]}\n',
    "list and scalar": '{"m":[1]}\n{"m":2}\n',
    "nothing but null": '{"a":null,"b":[],"c":{},"d":[{}]}\n',
    "NaN": '{"a":NaN}\n{"a":1}\n',
    "infinity": '{"a":1}\n{"a":Infinity}\n',
    "NaN among texts": '{"a":"x"}\n{"a":NaN}\n{"a":"y"}\n',
    "infinities among texts and numbers": '{"a":"x"}\n{"a":-Infinity}\n{"a":Infinity}\n{"a":3}\n',
    "NaN as content": '{"m":[{"r":"u","c":"x"}]}\n{"m":[{"r":"u","c":NaN}]}\n',
    "NaN in objects and lists among texts": '{"a":"x"}\n{"a":{"k":NaN,"l":[1,NaN]}}\n{"a":[Infinity]}\n',
    "blank lines": '\n{"a":1}\n\n   \n{"a":2}\n\n',
    "blank line and uneven messages": '{"m":[{"r":"u"}]}\n\n{"m":[{"r":"u","n":1}]}\n',
    "carriage returns": '{"a":1}\r\n{"a":2}\r\n',
    "byte order mark": b'\xef\xbb\xbf{"a":1}\r\n{"a":2}\r\n',
    "two on a line": '{"a":1}{"a":3}\n{"a":2}',
    "a null row": '{"a":1}\nnull\n{"a":2}\n',
    "an empty row": '{"a":1}\n{}\n',
    "dates": '{"a":"2020-01-01"}\n{"a":"2021-01-01 10:00:00"}\n',
    "dates and text": '{"a":"2020-01-01"}\n{"a":"x"}\n',
    "dates as content": '{"m":[{"r":"user","c":"2020-01-01"}]}\n',
    "parts of a second": '{"a":"2020-01-01T10:00:00.123"}\n',
    "large integers": '{"a":123456789012345678901234567890}\n{"a":1}\n',
    "a character of two escapes": '{"a":"\\ud83d\\ude00"}\n',
    "NUL": '{"a":"x\\u0000y"}\n',
    "Unicode line breaks": '{"a":"x\u2028y\x85z"}\n{"a":"b"}\n',
    "array": '[{"a":1},{"a":2,"b":3}]',
    "array of mixed values": '[{"a":1},{"a":"x"}]',
    "array of texts": '["x","y"]',
    "array of numbers": "[1,2]",
    "array of lists": "[[1,2],[3,4]]",
    "array with null": '[{"a":1},null]',
    "array behind a line break": '\n[{"a":1}]',
    "pretty array": '[\n {"a": 1},\n {"a": [1]}\n]',
    "array of uneven messages": '[{"m":[{"a":1},{"b":1}]}]',
    "pretty object": '{\n "a": 1,\n "b": [1,2]\n}',
    "pretty objects": '{\n "a": 1\n}\n{\n "a": 2\n}\n',
    "one object that holds rows": '{"data":[{"a":1},{"a":2}]}',
    "numbers as texts": '{"a":"42"}\n{"a":"-1"}\n{"a":"[1]"}\n{"a":"{}"}\n{"a":"true"}\n',
    "texts in a list as numbers": '{"a":["1","true"]}\n',
    "names of other alphabets": '{"\\u00e9":"1","b c":"2"}\n',
}
# Those that it does not read, and a word of what is said.
BAD: dict[str, tuple[str | bytes, str]] = {
    "a name twice": ('{"a":1,"a":2}\n', "`a` stands twice"),
    "Latin-1": ('{"a":"x"}\n{"a":"\xe9"}\n'.encode("latin-1"), "not UTF-8"),
    "a broken line": ('{"a":1}\n{"a":\n{"a":2}\n', "not JSON"),
    "text behind a row": ('{"a":1} xx\n{"a":2}', "not JSON"),
    "single quotes": ("{'a':1}\n", "write rows with `json.dumps`"),
    "None": ('{"a":None}\n', "write rows with `json.dumps`"),
    "a comma too many": ('{"a":1,}\n', "remove the comma before the closing bracket"),
    "a comma behind each row": ('{"a":1},\n{"a":2},\n', "remove the comma at the end of the line"),
    "a last row cut off": ('{"a":"x"}\n{"a":"x', "it is cut off here"),
    "an array with a comma too many": ('[{"a":1},\n]', "remove the comma before the closing bracket"),
    "numbers": ("1\n2\n", "a row is an object"),
    "lists": ("[1]\n[2]\n", "something follows the array"),
    "texts": ('"a"\n"b"\n', "a row is an object"),
    "only empty rows": ("{}\n{}\n", "holds no rows"),
    "empty": ("", "holds no rows"),
    "only blank lines": ("\n\n", "holds no rows"),
    "an empty array": ("[]", "holds no rows"),
    "half a character": ('{"a":"\\ud83d"}\n', "surrogate"),
    "a tab in a text": ('{"a":"x\ty"}\n', "not JSON"),
    "mixed values and a blank line": ('{"a":1}\n\n{"a":"x"}\n', "each line is one row: line 2 is blank"),
    "mixed values and two rows on a line": ('{"a":1} {"a":"x"}\n', "each line is one row: line 1 holds 2 rows"),
    "an array cut off": ('[{"a":1},{"a":2', "not JSON"),
    "an array without a comma": ('[{"a":1} {"a":2}]', "a comma is missing"),
    "brackets that nothing closes": ('{"a":' + "[" * 9000 + "\n", "nested more than 64 levels deep"),
    "an array of brackets": ("[" * 9000, "nested more than 64 levels deep"),
    "a pretty object of brackets": ('{\n "a": 1\n}\n{\n "a": ' + "[" * 9000, "nested more than 64 levels deep"),
    "a pretty object cut off": ('{\n "a": 1\n}\n{\n "a": \n', "not JSON"),
}
# First rows, later rows: those that come after the first 10 MB are cast to the types that were decided on them.
LATER_GOOD: dict[str, tuple[str, str]] = {
    "a text of digits where integers were": ('{"a":1}\n', '{"a":"12"}\n'),
    "a whole number where integers were": ('{"a":1}\n', '{"a":2.0}\n'),
    "bool where integers were": ('{"a":1}\n', '{"a":true}\n'),
    "integers where bools were": ('{"a":true}\n', '{"a":1}\n'),
    "integers where floats were": ('{"a":1.5}\n', '{"a":1}\n'),
    "a missing column": ('{"a":1,"b":1}\n', '{"a":1}\n'),
    "a missing key": ('{"m":[{"r":"u","c":1}]}\n', '{"m":[{"r":"u"}]}\n'),
    "keys in another order": ('{"m":[{"r":"u","c":1}]}\n', '{"m":[{"c":1,"r":"u"}]}\n'),
    "keys here and there": ('{"m":[{"r":"u","c":"x"}]}\n', '{"m":[{"r":"u","c":"x"}]}\n{"m":[{"r":"u"}]}\n'),
    "anything where types differed": ('{"m":[{"r":"u"},{"c":1}]}\n', '{"m":[{"q":"u"}]}\n'),
    "lists where types differed": ('{"m":1}\n{"m":"x"}\n', '{"m":[{"q":"u"}]}\n'),
    "null for an object": ('{"a":{"x":1}}\n', '{"a":null}\n'),
    "null for a list": ('{"a":["x"]}\n', '{"a":null}\n'),
    "numbers as texts": ('{"a":"x"}\n', '{"a":"1"}\n'),
}
# Those that it reads, while turning values into something else: holdfast reads them too, and says so.
LATER_TURNED: dict[str, tuple[str, str]] = {
    "integers where texts were": ('{"a":"x"}\n', '{"a":1}\n'),
    "bools where texts were": ('{"a":"x"}\n', '{"a":true}\n'),
    "integers where texts were, further in": ('{"m":[{"r":"u"}]}\n', '{"m":[{"r":1}]}\n'),
    "a text where lists of differing objects were": ('{"m":[{"r":"u"},{"c":1}]}\n', '{"m":"x"}\n'),
}
LATER_BAD: dict[str, tuple[str, str, str]] = {
    "text where integers were": ('{"a":1}\n', '{"a":"x"}\n', "`a` is text here ('x'), and an integer in the first rows"),
    "a list where texts were": ('{"a":"x"}\n', '{"a":[1]}\n', "`a` is a list here, and text"),
    "a fraction where integers were": ('{"a":1}\n', '{"a":1.5}\n', "`a` is a number here (1.5)"),
    "NaN where integers were": ('{"a":1}\n', '{"a":NaN}\n', "`a` is a number here (nan)"),
    "text where only null was": ('{"a":null,"b":1}\n', '{"a":"x","b":1}\n', "only null in the first rows"),
    "text where lists were empty": ('{"a":[],"b":1}\n', '{"a":["x"],"b":1}\n', "`a[]` is text here"),
    "one more column": ('{"a":1}\n', '{"a":1,"b":2}\n', "`b` is a column that the first rows do not have"),
    "one more column, of null": ('{"a":1}\n', '{"a":1,"b":null}\n', "`b` is a column"),
    "one more key": ('{"m":[{"r":"u"}]}\n', '{"m":[{"r":"u","c":1}]}\n', "`m[].c` is a key"),
    "an object where lists were": ('{"m":[1]}\n', '{"m":{"a":1}}\n', "`m` is an object here, and a list"),
    "a text where lists were": ('{"m":["x"]}\n', '{"m":"x"}\n', "`m` is text here, and a list"),
    "a text where dates were": ('{"a":"2020-01-01"}\n', '{"a":"x"}\n', "and a time in the first rows"),
    "a broken line": ('{"a":1}\n', '{"a":\n', "not JSON"),
}  # fmt: skip
# Those that it reads, while turning all texts of a part of the file into JSON: holdfast does not read those that are none.
LATER_MIXED: dict[str, tuple[str, str]] = {
    "lists among texts": ('{"a":"x"}\n', '{"a":"y"}\n{"a":[1]}\n'),
    "messages among texts": ('{"a":"x"}\n', '{"a":"y"}\n{"a":[{"role":"user"}]}\n'),
}
MANY, FEW = 50, 3


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def ours(*paths: Path) -> Table:
    try:
        return read(rows_of_files({"train": paths}, "train", paths[0]))
    except HoldfastError as error:
        return Table(error=error.what)


@pytest.mark.train
def test_the_first_rows(tmp_path: Path) -> None:
    """Types and rows of a short file are those of `datasets`; what it refuses is refused, with a reason."""
    texts = GOOD | {name: text for name, (text, _) in BAD.items()}
    paths = {name: write(tmp_path / f"{name}.jsonl", text) for name, text in texts.items()}
    truth = ask_datasets(tmp_path, {name: ("json", [str(path)], {}, "train") for name, path in paths.items()})

    for name in GOOD:
        assert not truth[name].error, name
        assert without_times(ours(paths[name])) == without_times(truth[name]), name
        assert not ours(paths[name]).broken, name
    for name in BAD:
        assert truth[name].error or not any(truth[name].rows.values()), name


@pytest.mark.parametrize("line", ['{"a":', "5", "{'a': 1}"])
def test_a_line_that_cannot_be_read_is_not_blamed_for_mixed_values(tmp_path: Path, line: str) -> None:
    """Without that line the file would be read, so it alone is told."""
    told = ours(write(tmp_path / "x.jsonl", f'{{"a":1}}\n{line}\n{{"a":"x"}}\n'))

    assert [broken.line for broken in told.broken] == [2]


@pytest.mark.parametrize("name", BAD)
def test_what_is_said_of_bad_rows(tmp_path: Path, name: str) -> None:
    """What cannot be read is told, wherever it is."""
    text, why = BAD[name]
    told = ours(write(tmp_path / "x.jsonl", text))

    assert why in told.error + " ".join(broken.what for broken in told.broken)


@pytest.mark.train
@pytest.mark.parametrize("apart", ["chunks", "files"])
def test_later_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: str) -> None:
    """What follows the first chunk of a file, or stands in another one, is cast, changed or refused as by `datasets`."""
    cases: dict[str, Any] = {}
    for name, (first, later, *_) in (LATER_GOOD | LATER_TURNED | LATER_BAD | LATER_MIXED).items():
        chunk = len(first) * (MANY - 1)
        texts = [first * MANY + later * FEW] if apart == "chunks" else [first * MANY, later * FEW]
        paths = [write(tmp_path / f"{name} {number}.jsonl", text) for number, text in enumerate(texts)]
        cases[name] = (
            "json",
            [str(path) for path in paths],
            {"chunksize": chunk} if apart == "chunks" else {},
            "train",
        )
    truth = ask_datasets(tmp_path, cases)

    for name, (_, files, options, _) in cases.items():
        chunk = options.get("chunksize", 1 << 20)
        by_chunk = Format(partial(look_at_json, chunk_bytes=chunk), partial(read_json, chunk_bytes=chunk))
        monkeypatch.setitem(opening.FORMATS, "json", by_chunk)
        told = ours(*map(Path, files))
        if name in LATER_BAD:
            assert truth[name].error, name
            assert LATER_BAD[name][2] in told.broken[0].what, name
            assert len(told.rows["a" if "a" in told.rows else "m"]) == MANY, name
        elif name in LATER_MIXED:
            assert json.dumps("y") in truth[name].rows["a"], name
            assert all("turns it and the texts around it into JSON" in broken.what for broken in told.broken), name
            assert len(told.rows["a"]) == MANY + FEW, name
        else:
            assert without_times(told) == without_times(truth[name]), name
            assert bool(told.broken) == (name in LATER_TURNED), name


def test_one_broken_line_among_many(tmp_path: Path) -> None:
    """The line and the row are told, the rows before and behind it are read, and keep their numbers."""
    lines = [json.dumps({"a": number}) for number in range(300_000)]
    lines[123_456] = '{"a": 123456'
    rows = rows_of_files({"train": [write(tmp_path / "x.jsonl", "\n".join(lines))]}, "train", tmp_path)
    numbers = []
    for batch in rows.batches():
        assert batch.frame["a"][0] == batch.start
        assert batch.frame["a"][-1] == batch.start + batch.frame.height - 1
        numbers += batch.frame["a"].to_list()

    assert numbers == [number for number in range(300_000) if number != 123_456]
    assert [(broken.line, broken.row) for broken in rows.broken] == [(123_457, 123_456)]


def test_a_file_that_is_broken_throughout(tmp_path: Path) -> None:
    """Nobody is told of the same fault a million times."""
    path = write(tmp_path / "x.jsonl", '{"a": 1}\n' + "{'a': 1}\n" * 100_000)
    told = ours(path)

    assert told.rows == {"a": [1]}
    assert "what follows is not looked at" in told.broken[-1].what
    assert len(told.broken) < 200


@pytest.mark.train
def test_objects_over_lines_that_are_cut_up(tmp_path: Path) -> None:
    """Of files that are neither short nor long `datasets` parses blocks, and fails where one ends within an object."""
    pretty = json.dumps({"a": "x" * 200, "b": 1}, indent=1) + "\n"
    paths = {str(count): write(tmp_path / f"{count}.json", pretty * count) for count in (100, 2_000, 20_000)}
    truth = ask_datasets(tmp_path, {name: ("json", [str(path)], {}, "train") for name, path in paths.items()})

    assert [bool(truth[name].error) for name in paths] == [False, True, False]
    assert [bool(ours(path).broken) for path in paths.values()] == [False, True, False]


def test_json_that_is_quoted_in_json(tmp_path: Path) -> None:
    """What `json.dumps` escapes within a text that is JSON itself is no half character: tools and arguments come so."""
    inner = json.dumps([{"role": "user", "content": "\N{ROCKET}"}])
    path = write(tmp_path / "x.jsonl", json.dumps({"messages": inner}) + "\n")
    table = ours(path)

    assert table.rows == {"messages": [inner]}
    assert not table.broken
    assert ours(write(tmp_path / "y.jsonl", '{"a":"\\\\\\ud83d"}\n{"a":"b"}\n')).broken


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
        ('{"a": 1}\n'.encode("utf-16"), "UTF-16"),
    ],
)
def test_files_that_are_taken_for_data_by_mistake(tmp_path: Path, content: bytes, told: str) -> None:
    """A pointer of Git LFS, and text as Windows saves it, are named: `not JSON` would help nobody."""
    for name in ("x.jsonl", "x.csv"):
        assert told in ours(write(tmp_path / name, content)).error
