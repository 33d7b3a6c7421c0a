"""The rows of a dataset's files, for the dataset viewer.

Source: the layouts that `datasets` 5.2.0 reads without being told how: `configs` of the README, or else the names of files and folders, where `train`,
`validation` (`valid`, `val`, `dev`) and `test` (`eval`) are split names, and everything is `train` where no name says so. Feature types as `Features.to_dict`
writes them.

Not covered: archives, images and audio, folders given by `data_dir`, splits of other names without `configs`.
"""

import gzip
import io
import json
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from tests.helpers.hub.exchange import HubError
from tests.helpers.hub.metadata import read_card
from tests.helpers.hub.repositories import Commit

KNOWN = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".txt")
KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
NOT_DATA = (
    "README.md",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
    "dataset_info.json",
    "requirements.txt",
)
Layout = dict[str, dict[str, list[str]]]


def lay_out(commit: Commit) -> Layout:
    """Return paths of data files by configuration and split.

    Raises:
        HubError: There are none, or a program would have to be run to read them.
    """
    configs = (read_card(commit) or {}).get("configs")
    found = {one["config_name"]: _listed(commit, one) for one in configs} if configs else {"default": _by_name(commit)}
    if not any(found.values()):
        scripts = [path for path in commit.files if path.endswith(".py") and "/" not in path]
        if scripts:
            because = f"Dataset scripts are no longer supported, but found {scripts[0]}"
            raise HubError(501, because, "DatasetWithScriptNotSupportedError")
        raise HubError(500, "The dataset is empty.", "EmptyDatasetError")
    return found


def _listed(commit: Commit, config: Mapping[str, Any]) -> dict[str, list[str]]:
    files = config.get("data_files", "**")
    entries = files if isinstance(files, list) else [files]
    splits: dict[str, list[str]] = {}
    for entry in entries:
        split, paths = (entry["split"], entry["path"]) if isinstance(entry, dict) else ("train", entry)
        wanted = [paths] if isinstance(paths, str) else paths
        splits.setdefault(split, []).extend(
            path for path in _data(commit) if any(_matches(path, one) for one in wanted)
        )
    return {split: paths for split, paths in splits.items() if paths}


def _matches(path: str, pattern: str) -> bool:
    return path == pattern or fnmatch(path, pattern) or path.startswith(f"{pattern.rstrip('/')}/")


def _by_name(commit: Commit) -> dict[str, list[str]]:
    splits: dict[str, list[str]] = {}
    for path in _data(commit):
        splits.setdefault(_split_of(path), []).append(path)
    named = {split: paths for split, paths in splits.items() if split}
    return named or ({"train": splits[""]} if splits else {})


def _split_of(path: str) -> str:
    words = re.split(r"[^a-zA-Z]+", path)
    return next((split for split, named in KEYWORDS.items() if set(words) & set(named)), "")


def _data(commit: Commit) -> list[str]:
    return [
        path for path in commit.files if plain_name(path).endswith(KNOWN) and path.rpartition("/")[2] not in NOT_DATA
    ]


def plain_name(path: str) -> str:
    """Return a file's name without what says that it is compressed."""
    return path.removesuffix(".gz")


def read(commit: Commit, paths: Iterable[str]) -> pa.Table:
    """Return the rows of some files together.

    Raises:
        HubError: They cannot be read, or do not fit together.
    """
    try:
        return pa.concat_tables(
            [read_file(path, commit.files[path].content) for path in paths], promote_options="default"
        )
    except (pa.ArrowException, ValueError, OSError) as error:
        because = f"An error occurred while generating the dataset: {error}".splitlines()[0]
        raise HubError(500, because, "DatasetGenerationError") from error


def read_file(path: str, content: bytes) -> pa.Table:
    """Return the rows of one file."""
    if path.endswith(".gz"):
        content = gzip.decompress(content)
    source, ending = io.BytesIO(content), plain_name(path).rpartition(".")[2]
    if ending == "parquet":
        return pyarrow.parquet.read_table(source)
    if ending in ("csv", "tsv"):
        return pyarrow.csv.read_csv(
            source, parse_options=pyarrow.csv.ParseOptions(delimiter="," if ending == "csv" else "\t")
        )
    if ending == "arrow":
        return _arrow(content)
    if ending == "txt":
        return pa.table({"text": content.decode().splitlines()})
    return _json(content)


def _arrow(content: bytes) -> pa.Table:
    opened = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
    return opened(pa.py_buffer(content)).read_all()


def _json(content: bytes) -> pa.Table:
    if content.lstrip()[:1] == b"[":
        return pa.Table.from_pylist(json.loads(content))
    return pyarrow.json.read_json(io.BytesIO(content))


def features(schema: pa.Schema) -> dict[str, Any]:
    """Return the features of all columns."""
    return {field.name: feature(field.type) for field in schema}


def feature(kind: pa.DataType) -> Any:
    """Return the feature of a type: `{"dtype": "string", "_type": "Value"}`, `{"feature": ..., "_type": "List"}`, or one of each field."""
    if pa.types.is_struct(kind):
        return {field.name: feature(field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"feature": feature(kind.value_type), "_type": "List"}
    names = {"double": "float64", "float": "float32", "halffloat": "float16"}
    return {"dtype": names.get(str(kind), str(kind)), "_type": "Value"}
