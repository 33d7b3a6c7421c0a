"""Rows of real files, read as `datasets` would read them, and judged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.adapters.rows.opening import open_rows
from holdfast.catalog.formats import recognise
from holdfast.catalog.formats.settings import ColumnSettings
from holdfast.core.check.finding import Severity
from holdfast.core.rows.columns import STRING
from holdfast.core.rows.scan import Scan
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.scan import scan_rows
from tests.helpers.scanned import Row, assistant, findings, good, user

CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}


def judge(path: Path, method: str, evaluated: Path | None = None, text_field: str = "text") -> Scan:
    rows = open_rows(path)
    other = open_rows(evaluated) if evaluated else None
    settings = ColumnSettings(text_field=text_field)
    return scan_rows(rows, recognise(rows.columns), eval_rows=other, method=method, settings=settings)


def codes(found: Scan, method: str) -> dict[str, Severity]:
    return {told.rule.code: severity_of(told) for told in findings(found, method) if told.rule}


def write(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_one_broken_line_among_many_is_named(tmp_path: Path) -> None:
    """The line that is not valid JSON is named, and the rows behind it keep their numbers."""
    path = write(tmp_path / "data.jsonl", [good("messages", index) for index in range(3000)])
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1999] = '{"messages": [{"role": '
    lines[2500] = json.dumps({"messages": [user("alone")]})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = judge(path, "sft")

    assert found.rows == 2999
    assert [broken.line for broken in found.broken] == [2000]
    assert [(marked.mark, marked.rows) for marked in found.marked] == [("no-assistant", (2500,))]
    assert codes(found, "sft") == {"DAT201": Severity.ERROR, "DAT211": Severity.WARNING}


ODD_CONTENTS: list[tuple[Any, str]] = [
    (42, "a number"),
    (1.5, "a number"),
    (True, "true or false"),
    ("42", "a number"),  # which `datasets` parses too, where contents differ in type
    (["a", "b"], "a list of texts"),
    ({"text": "a"}, "an object"),
    ([{"text": "a"}], "a list of parts without a `type`"),
    ([{"type": "text", "text": "a"}], ""),
    ("[sic] 42", ""),
]


@pytest.mark.parametrize(
    ("kind", "column", "method"),
    [
        ("messages", "messages", "sft"),
        ("completion-chat", "prompt", "sft"),
        ("pair-chat", "chosen", "dpo"),
        ("implicit-chat", "rejected", "reward"),
    ],
)
@pytest.mark.parametrize("keys", ["the same keys", "differing keys"])
def test_contents_that_are_no_text_are_named_in_every_list_of_messages(
    tmp_path: Path, kind: str, column: str, method: str, keys: str
) -> None:
    """Where some messages of a file say a text and others something else, `datasets` 5 keeps their content as JSON."""
    rows = [good(kind, index) for index in range(len(ODD_CONTENTS) + 2)]
    rows[-1][column][-1]["content"] = {"any": "object"}
    if keys == "differing keys":
        rows[0][column][-1]["name"] = "Ann"
    for number, (content, _) in enumerate(ODD_CONTENTS, start=1):
        rows[number][column][-1]["content"] = content
    found = judge(write(tmp_path / "rows.jsonl", rows), method)

    told = {row: mark.detail for mark in found.marked if mark.mark == "wrong-type" for row in mark.rows}
    expected = {row: f"says {what}" for row, (_, what) in enumerate(ODD_CONTENTS, start=1) if what}
    if keys == "differing keys":
        del expected[4]  # each message is one JSON object, whose texts stay texts
    assert told == expected | {len(rows) - 1: "says an object"}
    assert codes(found, method)["DAT203"] is Severity.WARNING


def test_leaks_are_found_across_formats(tmp_path: Path) -> None:
    """A Parquet file that is whole is judged; rows of it that are also evaluated on are found in another format."""
    train, evaluation = tmp_path / "train.parquet", tmp_path / "eval.jsonl"
    rows = [{**good("pair", index), "id": index} for index in range(50)]
    pl.DataFrame(rows).write_parquet(train)
    write(evaluation, [good("pair", 7), good("pair", 99)])
    found = judge(train, "dpo", evaluation)

    assert [(marked.mark, marked.rows) for marked in found.marked] == [("leaked", (7,))]
    assert codes(found, "dpo") == {"DAT220": Severity.WARNING}


def test_conversations_in_csv_are_text(tmp_path: Path) -> None:
    """A CSV file has its messages as JSON, which is told, and empty fields are null."""
    path = tmp_path / "data.csv"
    rows = [{"id": index, "messages": json.dumps(good("messages", index)["messages"])} for index in range(9)]
    pl.DataFrame([*rows, {"id": 9, "messages": None}]).write_csv(path)
    found = judge(path, "sft")

    assert codes(found, "sft") == {"DAT206": Severity.ERROR, "DAT208": Severity.ERROR}


def test_mixed_types_and_uneven_messages_in_json_lines(tmp_path: Path) -> None:
    """A number among texts is told by its row; messages with and without calls are judged as they are."""
    path = write(tmp_path / "mixed.jsonl", [{"text": "a b"}, {"text": "c"}, {"text": 3}])
    assert codes(judge(path, "sft"), "sft") == {"DAT204": Severity.ERROR}

    calling = [user(), {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "2"}, assistant("2")]
    path = write(tmp_path / "calls.jsonl", [{"messages": calling}, good("messages", 1), {"messages": [user("alone")]}])
    assert [(marked.mark, marked.rows) for marked in judge(path, "sft").marked] == [("no-assistant", (2,))]


@pytest.mark.parametrize("odd", ["text", 5, {"role": "user"}])
def test_rows_of_the_usual_type_are_judged_beside_others(tmp_path: Path, odd: Any) -> None:
    """A row of another type hides no damage of the rows around it."""
    rows = [good("messages", 1)["messages"], odd, [user("alone")], [], None, [assistant("first"), user("x")]]
    found = judge(write(tmp_path / "chats.jsonl", [{"messages": row} for row in rows]), "sft")
    marks = {marked.mark: marked.rows for marked in found.marked if marked.column == "messages"}
    assert marks == {
        "null": (4,),
        "mixed-types": (1,),
        "empty": (3,),
        "no-assistant": (2,),
        "last-turn": (5,),
        "role-order": (5,),
    }


@pytest.mark.parametrize("odd", [5, ["x"], {"a": 1}])
def test_texts_are_judged_beside_values_of_other_types(tmp_path: Path, odd: Any) -> None:
    rows = [("q", "a"), (odd, "b"), ("r", " "), ("", "c"), ("s", odd), ("t", "Ã©tÃ©"), ("u", None)]
    path = write(tmp_path / "texts.jsonl", [{"prompt": prompt, "completion": answer} for prompt, answer in rows])
    marks = {(marked.mark, marked.column): marked.rows for marked in judge(path, "sft").marked}
    assert marks == {
        ("mixed-types", "prompt"): (1,),
        ("empty", "prompt"): (3,),
        ("mixed-types", "completion"): (4,),
        ("blank-completion", "completion"): (2,),
        ("encoding", "completion"): (5,),
        ("null", "completion"): (6,),
    }


@pytest.mark.long
def test_thousands_of_columns_are_judged_together(tmp_path: Path) -> None:
    """Each keeps its type and its nulls."""
    names = ["prompt", "completion", *(f"c{number}" for number in range(4000))]
    path = tmp_path / "wide.csv"
    path.write_text(f"{','.join(names)}\nq,{','.join(names[1:])}\nr,b{',' * 4000}\n")
    found = judge(path, "sft")

    assert len(found.lacking.nulls) == 4000
    assert found.columns["c7"] == STRING


def test_sharegpt_in_a_json_array(tmp_path: Path) -> None:
    """A JSON file that is one array, with ShareGPT's own roles."""
    turns = [{"from": "human", "value": "1 plus 1?"}, {"from": "gpt", "value": "2"}]
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"id": index, "conversations": turns} for index in range(4)]), encoding="utf-8")

    assert codes(judge(path, "sft"), "sft") == {"DAT209": Severity.WARNING, "DAT219": Severity.WARNING}


COLUMNS: tuple[list[Any], ...] = (
    ["u", "v", "u", "w"],
    ["1", "[2]", "{", "true"],
    [1, 2, 1, None],
    ["2020-01-01", "2020-01-02", None, None],
    ["5", 6, "x", ""],
    [None, None, None, None],
    [good("messages", 1)["messages"], [], None, [user("alone")]],
)
"""Values of columns. Only JSON has those that differ in type, and a CSV file has no lists."""


PLACES: tuple[Callable[[str, Any], Row], ...] = (
    lambda name, value: {name: value, "ab": "x"},
    lambda name, value: {"x": {name: value, "ab": "k"}, "y": [{name: value, "ab": "k"}], name: "hi"},
    lambda name, value: {"messages": [{**user(), name: value}, {**assistant(), name: value}]},
)
"""Rows that have a value under a name, in various places."""


def outcome(rows: list[Row], suffix: str, folder: Path, name: str) -> object:
    """What is found in rows, with `column` for the name of the column that it is about."""
    path = folder / f"data{suffix}"
    if suffix == ".jsonl":
        write(path, rows)
    elif suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif suffix == ".arrow":
        pl.DataFrame(rows).write_ipc_stream(path)
    else:
        pl.DataFrame(rows).write_csv(path)
    found = judge(path, "sft", text_field=name)
    marked = [(each.mark, each.column == name, each.count, each.rows, each.detail) for each in found.marked]
    return found.rows, marked, len(found.broken), {key == name: nulls for key, nulls in found.lacking.nulls.items()}


@pytest.mark.parametrize("name", ["*", "^a.*$", "^.*$", "^ab|z$", "^("])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".arrow", ".csv"])
def test_names_that_polars_takes_for_patterns_are_names(tmp_path: Path, name: str, suffix: str) -> None:
    """A column is judged alike whatever its name: on its own, in an object, in a list, in messages."""
    for values in COLUMNS:
        if (suffix != ".jsonl" and "" in values) or (suffix == ".csv" and [] in values):
            continue
        for place in PLACES if suffix not in (".csv", ".arrow") else PLACES[:1]:
            odd, plain = ([place(each, value) for value in values] for each in (name, "plain"))
            assert outcome(odd, suffix, tmp_path, name) == outcome(plain, suffix, tmp_path, "plain"), values
