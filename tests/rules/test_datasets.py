"""What is said of a dataset without its libraries is what those libraries find in it."""

import bz2
import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.local.datasets import LocalDatasets
from holdfast.adapters.local.models import LocalModels
from holdfast.catalog.builtin import ROWS, stdlib_docstrings
from holdfast.core.check.facts import Dataset
from holdfast.core.errors import SourceError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.data import Data
from holdfast.core.job_file.job import Model
from holdfast.core.rows.columns import Scalar

ROW = '{"a": 1, "b": "x"}\n'

# Files that datasets reads, by name: their content, columns and rows.
GOOD: dict[str, tuple[bytes, tuple[str, ...], int]] = {
    "lines.jsonl": (ROW.encode() * 2, ("a", "b"), 2),
    "blank-lines.jsonl": (b"\n" + ROW.encode() + b"\n" + ROW.encode(), ("a", "b"), 2),
    "windows.jsonl": (b'{"a": 1}\r\n{"a": 2}\r\n', ("a",), 2),
    "marked.jsonl": (b'\xef\xbb\xbf{"a": 1}\n', ("a",), 1),
    "uneven.jsonl": (b'{"a": 1}\n{"b": 2}\n', ("a", "b"), 2),
    "packed.jsonl.gz": (gzip.compress(ROW.encode()), ("a", "b"), 1),
    "array.json": (b'[{"a": 1}, {"a": 2}]', ("a",), 2),
    "pretty-array.json": (json.dumps([{"a": 1}, {"b": 2}], indent=1).encode(), ("a", "b"), 2),
    "object.json": (json.dumps({"a": 1, "b": "x"}, indent=1).encode(), ("a", "b"), 1),
    "objects.json": (b'{\n"a": 1\n}\n{\n"a": 2\n}\n', ("a",), 2),
    "one-line.jsonl": (b'{"a": 1}{"a": 2}\n', ("a",), 2),
    "texts.json": (b'["x", "y"]', ("text",), 2),
    "numbers.json": (b"[1, 2]", ("text",), 2),
    "packed.jsonl": (bz2.compress(ROW.encode()), ("a", "b"), 1),
    "blank-lines.csv": (b"a,b\n1,2\n  \n3,4\n", ("a", "b"), 2),
    "table.csv": (b'a,b\n"x\ny",2\n', ("a", "b"), 1),
    "twice.csv": (b"a,a,\n1,2,3\n", ("a", "a.1", "Unnamed: 2"), 1),
    "lines.txt": (b"hello\nworld\n", ("text",), 2),
}
# Files that datasets refuses, and a word of why.
BAD: dict[str, tuple[bytes, str]] = {
    "empty.jsonl": (b"", "no rows"),
    "blank.jsonl": (b"\n\n", "no rows"),
    "no-rows.json": (b"[]", "no rows"),
    "no-columns.jsonl": (b"{}\n", "no rows"),
    "third-line.jsonl": (b'{"a": 1}\n{"a": 2}\n{"a":\n', "line 3: not JSON"),
    "quotes.jsonl": (b"{'a': 1}\n", "line 1: not JSON"),
    "comma.jsonl": (b'{"a": 1,}\n', "line 1: not JSON"),
    "numbers.jsonl": (b"1\n2\n", "line 1: a row is an object"),
    "lists.jsonl": (b"[1]\n[2]\n", "line 2: something follows the array"),
    "latin.jsonl": ('{"a": "é"}\n'.encode("latin1"), "line 1: not UTF-8"),
    "latin-objects.json": ('{\n"a": "é"\n}\n'.encode("latin1"), "line 2: not UTF-8"),
    "half.jsonl": (b'{"a": "\\ud83d"}\n', "line 1: half of a surrogate pair"),
    "plain.jsonl.gz": (ROW.encode(), "not what its name says"),
    "bzip2.csv.gz": (bz2.compress(b"a\n1\n"), "not what its name says"),
    "header.csv": (b"a,b\n", "no rows"),
    "empty.csv": (b"", "no rows"),
    "empty.txt": (b"", "no rows"),
}
# Files of a folder that datasets refuses, though each of them is good: it reads every split into the first one's columns.
UNLIKE = {"train.jsonl": b'{"a": 1}\n', "test.jsonl": b'{"a": 1, "c": 1}\n'}
# Folders that datasets reads: their files, and those of each split.
FOLDERS: dict[str, dict[str, list[str]]] = {
    "plain": {"train": ["x.jsonl", "y.jsonl"]},
    "named": {"train": ["train.jsonl"], "test": ["test.jsonl"]},
    "sharded": {
        "train": ["data/train-00000-of-00002.jsonl", "data/train-00001-of-00002.jsonl"],
        "test": ["data/test-00000-of-00001.jsonl"],
    },
    "custom": {"gold": ["data/gold-00000-of-00001.jsonl"]},
    "val": {"train": ["train.jsonl"], "validation": ["val.jsonl"]},
    "eval": {"train": ["my_train.jsonl"], "test": ["my_eval.jsonl"]},
    "folders": {"train": ["train/x.jsonl"], "validation": ["validation/x.jsonl"]},
    "alike": {"train": ["trainset.jsonl"]},
}


def write(path: Path, content: bytes = ROW.encode()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def look(path: object, *, split: str = "train", eval_split: str | None = None) -> Dataset:
    return LocalDatasets().fetch(Data(path=str(path), split=split, eval_split=eval_split), Method.SFT)


def untyped(found: Dataset) -> Dataset:
    """The same without the types that its first rows tell."""
    return replace(found, types={})


def test_first_rows_tell_types(tmp_path: Path) -> None:
    """What they hold; of what differs by row, or holds nothing, they say nothing."""
    rows = [{"a": [{"role": "user", "content": "x"}], "b": 1, "c": None}, {"a": [], "b": "x", "c": None}]
    path = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)).encode())

    assert {name: str(kind) for name, kind in look(path).types.items()} == {
        "a": "list<struct<role: string, content: string>>"
    }


@pytest.mark.parametrize("name", GOOD)
def test_good_file(tmp_path: Path, name: str) -> None:
    """A good file has its columns and, as it is short, its rows."""
    content, columns, rows = GOOD[name]

    assert untyped(look(write(tmp_path / name, content))) == Dataset(columns=columns, rows=rows)


@pytest.mark.parametrize("name", BAD)
def test_bad_file(tmp_path: Path, name: str) -> None:
    """A bad file has a problem, which names the file and, where it can, the line."""
    content, why = BAD[name]
    problem = look(write(tmp_path / name, content)).problem

    assert name in problem
    assert why in problem


@pytest.mark.parametrize("name", FOLDERS)
def test_folder(tmp_path: Path, name: str) -> None:
    """Each split of a folder is found; one that it has not is a problem that names those it has."""
    for files in FOLDERS[name].values():
        for file in files:
            write(tmp_path / file)
    for split in FOLDERS[name]:
        assert look(tmp_path, split=split).columns == ("a", "b")

    assert all(split in look(tmp_path, split="other").problem for split in ["no split `other`", *FOLDERS[name]])


@pytest.mark.train
def test_what_datasets_says(tmp_path: Path) -> None:
    """The library reads the good files and folders the same way, and refuses the bad ones."""
    paths = [write(tmp_path / name, each[0]) for table in (GOOD, BAD) for name, each in table.items()]
    for name, splits in FOLDERS.items():
        for files in splits.values():
            for file in files:
                write(tmp_path / name / file)
    for file, content in UNLIKE.items():
        write(tmp_path / "unlike" / file, content)
    folders = [str(tmp_path / name) for name in (*FOLDERS, "unlike")]
    told = ask_datasets([*map(str, paths), *folders])

    for name, (_, columns, rows) in GOOD.items():
        assert told[str(tmp_path / name)] == {"train": [list(columns), rows]}, name
    for name in BAD:
        assert told[str(tmp_path / name)] is None, name
    for name, splits in FOLDERS.items():
        assert told[str(tmp_path / name)].keys() == splits.keys(), name
    assert told[str(tmp_path / "unlike")] is None


def ask_datasets(paths: list[str]) -> dict[str, Any]:
    """Return what `load_dataset` makes of each path: columns and rows of each split, or None where it raises."""
    program = """
import json, sys
from pathlib import Path
import datasets
datasets.disable_progress_bars()
KINDS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".txt": "text"}
told = {}
for path in json.load(sys.stdin):
    kind = KINDS.get(Path(path.removesuffix(".gz")).suffix)
    try:
        found = datasets.load_dataset(kind, data_files=path) if kind else datasets.load_dataset(path)
        told[path] = {split: [part.column_names, part.num_rows] for split, part in found.items() if part[0]}
    except Exception:
        told[path] = None
    told[path] = told[path] or None
json.dump(told, sys.stdout)
"""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(Path(paths[0]).parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("name", ["nowhere.jsonl", "./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c"])
def test_a_path_that_is_not_there(name: str) -> None:
    """What can only be a path, and is not there, is a problem."""
    where = "" if name.startswith(("/", "~")) else " beside the job file or in the working directory"

    assert look(name).problem == f"no such file or folder{where}: {name}"


def test_a_hub_id_is_not_looked_up() -> None:
    """What may be a Hub id is neither good nor bad: nothing is said of it."""
    with pytest.raises(SourceError, match="not a local path"):
        look("trl-lib/Capybara")


def test_only_the_beginning_is_read(tmp_path: Path) -> None:
    """A fault far down is not seen, the rows of a long file are not counted, and it takes no time."""
    path = write(tmp_path / "long.jsonl", ROW.encode() * 500_000 + b"{")

    assert untyped(look(path)) == Dataset(columns=("a", "b"), rows=None)


def test_the_evaluation_split_has_columns_of_its_own(tmp_path: Path) -> None:
    """Columns are told for both splits; a slice of a split is that split, of unknown length."""
    write(tmp_path / "train.jsonl")
    write(tmp_path / "test.jsonl", b'{"a": 1}\n')

    assert untyped(look(tmp_path, eval_split="test")) == Dataset(
        columns=("a", "b"), rows=1, eval_columns=("a",), eval_rows=1
    )
    assert untyped(look(tmp_path, split="train[:50%]")) == Dataset(columns=("a", "b"), rows=None)


def test_splits_with_other_columns(tmp_path: Path) -> None:
    """A column that only another split has is a problem, even if that split is not asked for."""
    for name, content in UNLIKE.items():
        write(tmp_path / name, content)

    assert "split `test` has columns that `train` lacks: c" in look(tmp_path).problem


def test_folders_that_are_read_otherwise(tmp_path: Path) -> None:
    """A folder without data or of `save_to_disk` is a problem; one whose README tells how to read it is left alone."""
    write(tmp_path / "empty" / "notes.rst")
    write(tmp_path / "saved" / "data-00000-of-00001.arrow")
    write(tmp_path / "saved" / "state.json")
    write(tmp_path / "told" / "x.csv")
    head = b"---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files: x.csv\n  sep: ;\n---\n"
    write(tmp_path / "told" / "README.md", head)

    assert "no data files" in look(tmp_path / "empty").problem
    assert "save_to_disk" in look(tmp_path / "saved").problem
    with pytest.raises(SourceError, match="README"):
        look(tmp_path / "told")


def test_a_readme_assigns_files(tmp_path: Path) -> None:
    """The README says which files a split has; a configuration that it does not know is a problem."""
    write(tmp_path / "x.jsonl")
    write(tmp_path / "y.jsonl", b'{"c": 1}\n')
    write(tmp_path / "README.md", b"---\nconfigs:\n- config_name: only\n  data_files: y.jsonl\n---\n")
    other = Data(path=str(tmp_path), config="other")

    assert untyped(look(tmp_path)) == Dataset(columns=("c",), rows=1)
    assert LocalDatasets().fetch(other, Method.SFT).problem.endswith("no configuration `other`; it has only")


def test_parquet_and_arrow(tmp_path: Path) -> None:
    """Both are read from their own words, which tell the types too; a file that is neither is a problem."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, 2], "b": ["x", "y"]})
    types = {"a": Scalar("integer"), "b": Scalar("string")}
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    with (tmp_path / "t.arrow").open("wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)

    assert look(tmp_path / "t.parquet") == Dataset(columns=("a", "b"), rows=2, types=types)
    assert look(tmp_path / "t.arrow") == Dataset(columns=("a", "b"), rows=None, types=types)
    assert "not a Parquet file" in look(write(tmp_path / "bad.parquet")).problem
    assert "not an Arrow file" in look(write(tmp_path / "bad.arrow")).problem


def test_a_check_loads_nothing_that_reads_rows(tmp_path: Path) -> None:
    """What reads all rows takes longer to load than a check may take."""
    path = write(tmp_path / "x.jsonl")
    program = f"""
import sys
from holdfast.adapters.local.datasets import LocalDatasets
from holdfast.core.job_file.data import Data
from holdfast.core.job.methods import Method
assert LocalDatasets().fetch(Data(path={str(path)!r}), Method.SFT).rows == 1
assert not {{"polars", "pyarrow", "datasets", "huggingface_hub"}} & set(sys.modules)
"""

    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    """A file that is a broken archive, or of a kind that nobody reads, is a problem."""
    assert "not what its name says" in look(write(tmp_path / "x.jsonl.gz", gzip.compress(ROW.encode())[:-4])).problem
    assert "not what its name says" in look(write(tmp_path / "y.jsonl.gz")).problem
    assert "no known kind" in look(write(tmp_path / "z.docx")).problem


def test_builtin_data() -> None:
    """Data that holdfast makes has the columns of its configuration; another name or split is a problem."""
    known = LocalDatasets().fetch(Data(path="builtin:stdlib-docstrings", eval_split="test"), Method.DPO)

    assert known.columns == known.eval_columns == ("prompt", "chosen", "rejected")
    assert {str(kind) for kind in known.types.values()} == {"list<struct<role: string, content: string>>"}
    assert "no dataset" in look("builtin:nothing").problem
    assert "no split" in look("builtin:stdlib-docstrings", split="validation").problem


def test_models(tmp_path: Path) -> None:
    """A model folder has the names of its files; a path that is not there has none; the Hub is not contacted."""
    write(tmp_path / "config.json", b"{}")
    models = LocalModels()

    assert models.fetch(Model(path=str(tmp_path))).files == frozenset({"config.json"})
    assert models.fetch(Model(path=str(tmp_path / "nowhere"))).files is None
    assert models.fetch(Model(path="builtin:tiny-chat")).files
    with pytest.raises(SourceError, match="not a local path"):
        models.fetch(Model(path="Qwen/Qwen2.5-0.5B"))


@pytest.mark.parametrize("split", sorted(ROWS))
def test_a_builtin_dataset_has_the_rows_that_are_claimed(split: str) -> None:
    """At least."""
    assert len(stdlib_docstrings.rows("messages", split)) >= ROWS[split]


@pytest.mark.parametrize(("count", "known"), [(120, 120), (10_100, 10_100), (10_101, None)])
def test_rows_of_a_small_file_are_counted(count: int, known: int | None, tmp_path: Path) -> None:
    """A check counts them where that takes a moment."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n' * count)

    assert look(str(path)).rows == known


def test_a_damaged_row_behind_the_first_ones_leaves_them_uncounted(tmp_path: Path) -> None:
    """What can be said of the first rows is said; `inspect` reads the others."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n' * 150 + "{broken\n")
    found = look(str(path))

    assert (found.rows, found.columns, found.problem) == (None, ("text",), "")
