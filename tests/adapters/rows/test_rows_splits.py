"""The files of each split are those that `datasets` finds."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.splits import find_splits
from holdfast.core.errors import HoldfastError, SourceError

# Folders: the files in them, and the README's head, if there is one.
FOLDERS: dict[str, tuple[list[str], str]] = {
    "plain": (["x.jsonl", "y.jsonl"], ""),
    "named": (["train.jsonl", "test.jsonl", "notes.jsonl"], ""),
    "shards": (
        ["data/train-00000-of-00002.jsonl", "data/train-00001-of-00002.jsonl", "data/gold-00000-of-00001.jsonl"],
        "",
    ),
    "shards in order": (
        ["data/test-00000-of-00001.csv", "data/a-00000-of-00001.csv", "data/train-00000-of-00001.csv"],
        "",
    ),
    "folders": (["train/x.jsonl", "dev/x.jsonl", "deep/er/test/x.jsonl"], ""),
    "words": (["my_train.jsonl", "my-eval.jsonl", "2val.jsonl"], ""),
    "no words": (["trainset.jsonl", "contest.jsonl"], ""),
    "two words": (["train_test.jsonl"], ""),
    "training": (["training.jsonl", "train.jsonl", "a_train_1.jsonl"], ""),
    "hidden": (["x.jsonl", ".y.jsonl", ".git/z.jsonl", "__pycache__/z.jsonl", "__z.jsonl"], ""),
    "aside": (["x.jsonl", "config.json", "dataset_info.json"], ""),
    "mostly csv": (["a.csv", "b.csv", "c.jsonl"], ""),
    "a draw": (["a.csv", "b.parquet", "c.jsonl"], ""),
    "another draw": (["a.csv", "c.json"], ""),
    "packed": (["train.jsonl.gz", "test.jsonl.gz"], ""),
    "a log named train": (["train.log", "data.jsonl"], ""),
    "different kinds": (["train.csv", "test.jsonl"], ""),
    "notes": (["notes.md", "x.jsonl"], ""),
    "only notes": (["notes.md"], ""),
    "no data": (["LICENSE"], ""),
    "tabs": (["a.tsv"], ""),
    "capitals": (["TRAIN.jsonl", "x.JSONL"], ""),
    "one file": (["a.jsonl", "b.jsonl"], "configs:\n- config_name: default\n  data_files: b.jsonl\n"),
    "pattern": (["a/1.jsonl", "a/b/2.jsonl", "c.jsonl"], 'configs:\n- config_name: x\n  data_files: "a/*"\n'),
    "deep pattern": (["a/1.jsonl", "a/b/2.jsonl", "c.jsonl"], 'configs:\n- config_name: x\n  data_files: "a/**"\n'),
    "splits": (
        ["a.jsonl", "b.jsonl", "c.jsonl"],
        "configs:\n- config_name: x\n  data_files:\n  - split: train\n    path: [a.jsonl, b.jsonl]\n  - split: gold\n    path: c.jsonl\n",
    ),
    "a folder of it": (
        ["en/train.jsonl", "en/test.jsonl", "fr/x.jsonl"],
        "configs:\n- config_name: en\n  data_dir: en\n",
    ),
    "several": (
        ["en.jsonl", "fr.jsonl"],
        "configs:\n- config_name: en\n  data_files: en.jsonl\n- config_name: fr\n  data_files: fr.jsonl\n",
    ),
    "several with a default": (
        ["en.jsonl", "fr.jsonl"],
        "configs:\n- config_name: en\n  data_files: en.jsonl\n- config_name: fr\n  data_files: fr.jsonl\n  default: true\n",
    ),
    "no list": (["a.jsonl"], "configs:\n  config_name: x\n"),
    "nameless": (["a.jsonl"], "configs:\n- data_files: a.jsonl\n"),
    "a missing file": (["a.jsonl"], "configs:\n- config_name: x\n  data_files: b.jsonl\n"),
    "other heads": (["a.jsonl"], "license: mit\n"),
}
PROGRAM = """
import json, logging, sys
import datasets
from pathlib import Path
logging.disable(logging.CRITICAL)
for line in sys.stdin:
    folder = json.loads(line)
    try:
        found = datasets.load_dataset_builder(folder).config.data_files
        told = {str(split): [Path(file).relative_to(folder).as_posix() for file in files] for split, files in found.items()}
    except Exception as error:
        told = None
    print(json.dumps(told), flush=True)
"""


def ask_datasets(folders: list[Path]) -> list[dict[str, list[str]] | None]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folders[0].parent / ".home")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        input="".join(json.dumps(str(folder)) + "\n" for folder in folders),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def make(folder: Path, names: list[str], head: str = "") -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"a": 1}\n')
    if head:
        (folder / "README.md").write_text(f"---\n{head}---\n# A dataset\n")
    return folder


def ours(folder: Path) -> dict[str, list[str]] | None:
    try:
        found = find_splits(folder)
    except HoldfastError:
        return None
    return {split: [path.relative_to(folder).as_posix() for path in paths] for split, paths in found.items()}


@pytest.mark.train
def test_splits(tmp_path: Path) -> None:
    """Each split has the files that `datasets` gives it; where it raises, so does holdfast."""
    folders = [make(tmp_path / name, *content) for name, content in FOLDERS.items()]
    truth = dict(zip(FOLDERS, ask_datasets(folders), strict=True))

    assert truth.pop("only notes") == {"train": ["notes.md"]}  # which no text trainer reads, and neither does holdfast
    assert {name: ours(tmp_path / name) for name in truth} == truth


@pytest.mark.train
def test_splits_of_any_names(tmp_path: Path) -> None:
    """Names put together at random are told apart in the same way."""
    chosen = random.Random(4)  # noqa: S311 - no secret
    parts = ("train", "test", "val", "dev", "eval", "training", "data", "x", "notes", "2", "00000-of-00001")
    endings = (".jsonl", ".jsonl", ".csv", ".jsonl.gz", ".txt", ".parquet")
    folders = []
    for number in range(60):
        ending = chosen.choice(endings)
        names = set()
        for _ in range(chosen.randint(1, 5)):
            depth = chosen.choice((0, 0, 1, 2))
            words = ["".join(_joined(chosen, parts)) for _ in range(depth + 1)]
            names.add("/".join(words) + chosen.choice((ending, ending, ending, ".csv")))
        folders.append(make(tmp_path / str(number), sorted(names)))
    truth = ask_datasets(folders)

    assert [ours(folder) for folder in folders] == truth


def _joined(chosen: random.Random, parts: tuple[str, ...]) -> list[str]:
    *first, last = chosen.choices(parts, k=chosen.choice((1, 1, 2, 3)))
    return [*(part + chosen.choice(("-", "_", ".", " ", "")) for part in first), last]


def test_configurations(tmp_path: Path) -> None:
    """One that is named is taken; where none is, and there are several, they are told."""
    make(tmp_path, *FOLDERS["several"])

    assert find_splits(tmp_path, "fr") == {"train": [tmp_path / "fr.jsonl"]}
    with pytest.raises(BadDataError, match="several configurations, of which one must be named: en, fr"):
        find_splits(tmp_path)
    with pytest.raises(BadDataError, match="no configuration `de`; it has en, fr"):
        find_splits(tmp_path, "de")


def test_a_readme_that_tells_how_to_read(tmp_path: Path) -> None:
    """What is read in a way of its own is not called good or bad."""
    make(tmp_path, ["a.csv"], 'configs:\n- config_name: x\n  data_files: a.csv\n  sep: ";"\n')

    with pytest.raises(SourceError, match="how to read the files \\(sep\\)"):
        find_splits(tmp_path)


def test_a_folder_with_what_nobody_may_look_at_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the entries of other processes under `/proc`."""
    (tmp_path / "secret.jsonl").write_text('{"text": "a"}\n')
    is_file = Path.is_file

    def refuse(path: Path) -> bool:
        if path.name == "secret.jsonl":
            raise PermissionError(path)
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refuse)

    with pytest.raises(BadDataError, match="cannot be listed"):
        find_splits(tmp_path, None)
