"""Columns that the data lacks: what `datasets` refuses, and what is reported of scripts."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast

CALLS = (
    "rows.remove_columns('words')",
    "rows.remove_columns(['words'])",
    "rows.select_columns(['words'])",
    "rows.rename_column('words', 'text')",
    "rows.rename_columns({'words': 'text'})",
    "rows.map(lambda row: row, remove_columns=['words'])",
    "rows.map(lambda word: {}, input_columns='words')",
    "rows.filter(lambda word: True, input_columns=['words'])",
)
HEAD = "from datasets import load_dataset\n\nrows = load_dataset('json', data_files='rows.jsonl'{more})\n"
ALIKE = (
    "rows.shuffle(seed=1).remove_columns('word')",
    "rows.map(lambda row: {'words': 1}).remove_columns('words')",
    "rows.map(lambda row: row, remove_columns=rows.column_names)",
    "try:\n    rows.remove_columns('words')\nexcept ValueError:\n    pass",
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a file of rows, in which holdfast runs."""
    (tmp_path / "rows.jsonl").write_text((json.dumps({"word": "a"}) + "\n") * 4)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


def findings(line: str, more: str = "") -> list[tuple[str, str]]:
    """Return code and severity of what is found in a script."""
    Path("prepare.py").write_text(HEAD.format(more=more) + line + "\n")
    answer: dict[str, Any] = holdfast.check("prepare.py", offline=True)["targets"][0]
    return [(each["code"], each["severity"]) for each in answer["findings"] if each["code"] == "DAT124"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("split", [", split='train'", ""])
def test_what_datasets_refuses_is_an_error(call: str, split: str) -> None:
    """Of one split and of all of them."""
    from datasets import load_dataset

    kinds = {"": None, ", split='train'": "train"}
    rows = load_dataset("json", data_files="rows.jsonl", split=kinds[split], cache_dir="cache")

    assert findings(call, split) == [("DAT124", "error")]
    with pytest.raises(ValueError, match="words"):
        eval(call, {"rows": rows})  # noqa: S307 - the calls of this module


@pytest.mark.parametrize("line", ALIKE)
def test_what_may_have_the_column_is_let_pass(line: str) -> None:
    """A column that is there, that a `map` may add, or whose absence is caught."""
    assert findings(line, ", split='train'") == []


def test_what_is_streamed_is_let_pass() -> None:
    """Its columns are not known before it is read."""
    assert findings(CALLS[0], ", split='train', streaming=True") == []


def test_rows_that_were_not_all_read_make_it_a_warning() -> None:
    """JSON may have a column from a later row on."""
    Path("rows.jsonl").write_text((json.dumps({"word": "a"}) + "\n") * 20_000)

    assert findings(CALLS[0], ", split='train'") == [("DAT124", "warning")]
