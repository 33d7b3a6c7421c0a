"""A key that a function reads of every row and that no row has is an error; what may be skipped at run time is not."""

from pathlib import Path

import pytest

from holdfast import check

HEAD = "from functools import partial\n\nfrom datasets import Dataset, load_dataset\n\n"
LOAD = 'rows = load_dataset("json", data_files="rows.jsonl", split="train")\n'


@pytest.mark.parametrize(
    ("body", "absent"),
    [
        ('rows.map(lambda row: {"prompt": row["txt"]})', "txt"),
        ('rows.shuffle(seed=1).filter(lambda row: len(row["txt"]) > 1)', "txt"),
        ('def f(row):\n    """One."""\n    a = row["text"]\n    return {"p": a + row["txt"]}\n\n\nrows.map(f)', "txt"),
        ('def f(rows):\n    return {"p": [x for x in rows["txt"]]}\n\n\nrows.map(f, batched=True)', "txt"),
        ('Dataset.from_dict({"a": [1]}).map(lambda row: {"b": row["c"]})', "c"),
        ('def f(row):\n    row["t"] = row["txt"]\n    return row\n\n\nrows.map(f)', "txt"),
        ('rows.map(lambda row: {"prompt": row["text"]})', ""),
        ('rows.map(lambda row: {"p": row["txt"] if "txt" in row else ""})', ""),
        ('def f(row):\n    row["txt"] = 1\n    return {"p": row["txt"]}\n\n\nrows.map(f)', ""),
        ('def f(row):\n    if row["n"]:\n        return row\n    return row["txt"]\n\n\nrows.map(f)', ""),
        ('def f(row):\n    fill(row)\n    return {"p": row["txt"]}\n\n\nrows.map(f)', ""),
        ('def f(more, row):\n    return {"p": more["txt"]}\n\n\nrows.map(partial(f, {"txt": 1}))', ""),
        ('rows.map(lambda text: {"p": text["txt"]}, input_columns="text")', ""),
        ('rows.map(prepare).map(lambda row: {"p": row["txt"]})', ""),
        ('try:\n    rows.map(lambda row: {"p": row["txt"]})\nexcept KeyError:\n    pass', ""),
    ],
)
def test_a_key_that_no_row_has(body: str, absent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was run with datasets 5.2: those with a key raise KeyError."""
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "n": 1}\n')
    (tmp_path / "prepare.py").write_text(f"{HEAD}{LOAD}{body}\n")
    monkeypatch.chdir(tmp_path)
    found = check("prepare.py", offline=True, cache=False, select="DAT126")["targets"][0]["findings"]
    assert [f'`["{absent}"]`' in each["message"] for each in found] == ([True] if absent else [])
