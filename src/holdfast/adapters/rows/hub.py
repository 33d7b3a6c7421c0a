"""Rows of a dataset on the Hub: its data files, fetched one at a time into the cache of `huggingface_hub`, where trainers look too.

Covered: the repository's own files, split as `datasets` does; where they are of a kind that is not read here, the
Parquet files that the Hub made of them. Not covered: names that do not exist, which `holdfast.adapters.hub` resolves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, overload

from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.rows.opening import FileRows, rows_of_files
from holdfast.adapters.rows.splits import README, read_configs, split_files
from holdfast.core.errors import SourceError

PARQUET_BRANCH: Final = "refs/convert/parquet"
# How the Hub names the files on it: configuration, split, number. A split that is not whole has a word before its name.
PARQUET_FILE: Final = re.compile(r"(?P<config>[^/]+)/(?P<split>[^/]+)/\d+\.parquet")
PARTIAL: Final = "partial-"


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A dataset on the Hub.

    Attributes:
        name: `owner/name`.
        revision: Branch, tag or commit; None for the default.
        files: Names of all its files.
    """

    name: str
    revision: str | None
    files: tuple[str, ...]

    def fetch(self, name: str) -> Path:
        """Return a file of it, from the cache or the Hub.

        Raises:
            SourceError: It cannot be had.
        """
        return Path(str(_hub_answer("hf_hub_download", self.name, filename=name, revision=self.revision)))


def open_hub_rows(
    repo_id: str,
    split: str,
    *,
    config: str | None,
    revision: str | None,
    files: Iterable[str] | None,
) -> FileRows:
    """Open the rows of a dataset on the Hub. Files are fetched when their turn comes.

    Args:
        repo_id: Its name.
        split: The split, slice or sum of splits that is requested.
        config: The configuration; None for the default.
        revision: Branch, tag or commit; None for the default.
        files: Names of its files; None to ask for them.

    Raises:
        BadDataError: It has no data, no such configuration or no such split.
        SourceError: The Hub does not give it, or its files cannot be read here.
        UsageError: The slice is none.
    """
    repository = _repository(repo_id, revision, files)
    where = Path(repo_id)
    try:
        splits = split_files(repository.files, _configs(repository), config, repo_id)
    except BadDataError:
        raise
    except SourceError as error:
        repository = _converted(repo_id, error)
        splits = _converted_splits(repository.files, config, error)
    return rows_of_files({name: FetchedFiles(repository, names) for name, names in splits.items()}, split, where)


class FetchedFiles(Sequence[Path]):
    """Files of a repository, each fetched when it is requested."""

    def __init__(self, repository: HubDataset, names: Sequence[str]) -> None:
        """Take their names."""
        self._repository, self._names = repository, names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | Sequence[Path]:
        if isinstance(index, slice):
            return FetchedFiles(self._repository, self._names[index])
        return self._repository.fetch(self._names[index])

    def __iter__(self) -> Iterator[Path]:
        return (self._repository.fetch(name) for name in self._names)


def _repository(repo_id: str, revision: str | None, files: Iterable[str] | None) -> HubDataset:
    names: Iterable[str] = _hub_answer("list_repo_files", repo_id, revision=revision) if files is None else files
    return HubDataset(repo_id, revision, tuple(sorted(names)))


def _configs(repository: HubDataset) -> list[Mapping[str, Any]]:
    return read_configs(repository.fetch(README).parent) if README in repository.files else []


def _converted(repo_id: str, error: SourceError) -> HubDataset:
    """Return the Hub's converted copy of a dataset.

    Raises:
        SourceError: It has no rows of it either; the message says why the files themselves cannot be read.
    """
    try:
        return _repository(repo_id, PARQUET_BRANCH, None)
    except SourceError:
        raise error from None


def _converted_splits(files: Sequence[str], config: str | None, error: SourceError) -> dict[str, list[str]]:
    found = [each for name in files if (each := PARQUET_FILE.fullmatch(name))]
    chosen = config or _default_config(found)
    splits: dict[str, list[str]] = {}
    for each in (each for each in found if each["config"] == chosen):
        splits.setdefault(each["split"].removeprefix(PARTIAL), []).append(each.string)
    if not splits:
        raise error
    return splits


def _default_config(files: Iterable[re.Match[str]]) -> str:
    """Return the configuration that is taken where none is named: the only one, or that of this name."""
    configs = {each["config"] for each in files}
    return configs.pop() if len(configs) == 1 else "default"


def _hub_answer(question: str, repo_id: str, **about: Any) -> Any:
    """Return the answer of huggingface_hub.

    Raises:
        SourceError: It does not.
    """
    hub = import_module("huggingface_hub")
    ask = hub.hf_hub_download if question == "hf_hub_download" else getattr(hub.HfApi(), question)
    try:
        return ask(repo_id, repo_type="dataset", **about)
    except (OSError, ValueError, hub.errors.EntryNotFoundError) as error:  # its own errors are OSErrors and ValueErrors
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        fix = "look at the name, the revision and the token"
        raise SourceError(f"the Hub does not give {repo_id}: {what}", where=repo_id, fix=fix) from error
