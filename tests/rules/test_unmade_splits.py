"""Splits that a program takes from its data: DAT127 reports exactly those whose program raises KeyError."""

from pathlib import Path

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.rules.dat127_unmade_split import check

ROWS = (
    "from datasets import Dataset, DatasetDict, load_dataset\nrows = Dataset.from_list([{'a': n} for n in range(8)])\n"
)
HALVED = ROWS + "rows = rows.train_test_split(test_size=2, seed=1)\n"
FILES = "from datasets import load_dataset\nrows = load_dataset('json', data_files={files})\n"
RAISES = (
    HALVED + "rows['validation'].select([0])",
    HALVED + "part = rows['valid']\nDatasetDict({'x': 1})\npart.shuffle(seed=1)",
    HALVED + "rows = rows.map(lambda row: {'b': 1}).remove_columns('a')\nrows['eval'].select([0])",
    HALVED + "def use(part):\n    return part.select([0])\nuse(rows['validation'])",
    ROWS + "DatasetDict({'train': rows, 'dev': rows})['test'].select([0])",
    FILES.format(files="'rows.jsonl'") + "rows['test'].select([0])",
    FILES.format(files="['rows.jsonl']") + "rows['test'].select([0])",
    FILES.format(files="{'train': 'rows.jsonl', 'dev': 'rows.jsonl'}") + "rows['test'].select([0])",
)
QUIET = (
    HALVED + "rows['train'].select([0]), rows['test'].select([0])",
    HALVED + "if 'validation' in rows:\n    rows['validation'].select([0])",
    HALVED + "rows['validation'].select([0]) if 'validation' in rows.keys() else None",
    HALVED + "try:\n    rows['validation'].select([0])\nexcept KeyError:\n    pass",
    HALVED + "rows['validation'] = rows.pop('test')\nrows['validation'].select([0])",
    HALVED + "rows.update({'validation': rows['test']})\nrows['validation'].select([0])",
    HALVED + "rows['train'].train_test_split(test_size=1, seed=1)['test'].select([0])",
    ROWS + "rows.map(lambda row: {'validation': 1})['validation']",
    FILES.format(files="'rows.jsonl'") + "rows['train'].select([0])",
    FILES.format(files="{'train': 'rows.jsonl', 'dev': 'rows.jsonl'}") + "rows['dev'].select([0])",
)


@pytest.mark.train
@pytest.mark.parametrize(("source", "raises"), [*((each, True) for each in RAISES), *((each, False) for each in QUIET)])
def test_what_is_reported_raises(source: str, raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends with KeyError if, and only if, the rule reports its split."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    Path("rows.jsonl").write_text('{"a": 1}\n')
    found = [each for document in read_script(source, "train.py") for each in check(document)]
    try:
        exec(compile(source, "train.py", "exec"), {})
    except KeyError:
        assert raises
    else:
        assert not raises
    assert bool(found) is raises
