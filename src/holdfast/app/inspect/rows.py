"""The rows of a dataset that is inspected, wherever they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from holdfast.adapters import hub
from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.rows.hub import open_hub_rows
from holdfast.adapters.rows.opening import open_rows, rows_of_files
from holdfast.catalog.builtin import BUILTIN
from holdfast.catalog.formats import ColumnSettings, recognise, settle
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.catalog.references import some_of
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import Type
from holdfast.core.rows.row_numbers import renumber_scan
from holdfast.core.rows.scan import Scan
from holdfast.core.rows.shape import Shape
from holdfast.core.rows.unpacking import unpack_rows
from holdfast.engine.scan import scan_rows
from holdfast.ports import Rows

SAMPLES: Final = 200
"""Rows that mappings are tried on, and reward functions called on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPreview:
    """What the first rows show.

    Attributes:
        samples: They themselves, as Python values.
        columns: Types of all columns.
        shape: What TRL would take them for.
        settings: What of the job's settings decides which columns are read.
    """

    samples: tuple[dict[str, Any], ...]
    columns: Mapping[str, Type]
    shape: Shape
    settings: ColumnSettings


class RowSource:
    """The source of a dataset's rows; each pass over them opens them anew.

    Attributes:
        document: The request.
        path: The dataset.
        split: Its split.
        offline: Whether the Hub is left alone.
        numbers: The number of each row in the data that the rows were taken from; empty if that is this data.
    """

    def __init__(
        self,
        document: Document,
        *,
        offline: bool,
        files: Mapping[str, Path] | None = None,
        numbers: Sequence[int] = (),
    ) -> None:
        """Find the dataset.

        Args:
            document: The request.
            offline: Whether the Hub is left alone.
            files: The file of each split, where these are known.
            numbers: See the attribute.

        Raises:
            UsageError: There is none of that name.
        """
        path, split = document.get("dataset.path"), document.get("dataset.split", "train")
        if not isinstance(path, str) or isinstance(split, Unknown):
            raise UsageError("no dataset is named", where=document.path, fix="name one under `dataset`")
        if path.startswith(BUILTIN):
            fix = "name a file, a folder or a dataset of the Hub"
            raise UsageError(f"holdfast makes {path} itself: there is nothing to inspect", where=path, fix=fix)
        self.document, self.path, self.split, self.offline = document, path, str(split), offline
        self.numbers = numbers
        if files:
            self._opener: Callable[[str], Rows] = partial(_open_files, files)
        else:
            self._opener = _find(path, document.get("dataset.config", None), offline=offline)

    def open(self, split: str | None = None) -> Rows:
        """Open the rows."""
        return self._opener(split or self.split)

    def look(self) -> DataPreview:
        """Read the first rows.

        Raises:
            SourceError: They cannot be read.
        """
        rows = self.open()
        frames = (batch.frame.head(SAMPLES).iter_rows(named=True) for batch in rows.batches())
        samples = tuple(islice(unpack_rows((row for some in frames for row in some), rows.columns), SAMPLES))
        columns = settle(rows.columns, samples)
        known = {name: kind for name, kind in columns.items() if kind is not None}
        return DataPreview(
            samples=samples, columns=known, shape=recognise(columns, samples), settings=read_settings(self.document)
        )

    def scan(self, sight: DataPreview, method: Method | None) -> Scan:
        """Judge every row."""
        evaluated = self.document.get("dataset.eval_split", None)
        eval_rows = self.open(evaluated) if isinstance(evaluated, str) else None
        name = method.value if method else None
        found = scan_rows(self.open(), sight.shape, eval_rows=eval_rows, method=name, settings=sight.settings)
        return renumber_scan(found, self.numbers)


def read_settings(document: Document) -> ColumnSettings:
    """Return the job settings that decide which columns are read."""
    field, assistant = document.get("train.dataset_text_field", None), document.get("train.assistant_only_loss", None)
    rewards = document.get("rewards", None)
    return ColumnSettings(
        text_field=field if isinstance(field, str) else "text",
        assistant_only_loss=assistant is True,
        rewards=tuple(each for each in rewards if isinstance(each, str)) if isinstance(rewards, list) else (),
    )


def _open_files(files: Mapping[str, Path], split: str) -> Rows:
    return rows_of_files({name: [path] for name, path in files.items()}, split, next(iter(files.values())))


def _find(path: str, config: str | None, *, offline: bool) -> Callable[[str], Rows]:
    """Return a function that opens a split of a dataset, local or on the Hub."""
    if is_there(expanded(path)):
        return lambda split: open_rows(path, split)
    if not may_be_repository(path):
        raise UsageError(
            f"no such file or folder: {path}", where=path, fix="name a file, a folder or a dataset of the Hub"
        )
    if offline:
        fix = "name a file or a folder that is here, or leave out --offline once the Hub can be reached"
        raise UsageError(f"nothing on this machine is called {path}", where=path, fix=fix)
    reference = Reference(role="dataset", name=path, key="dataset.path", repo_kind="dataset", config=config)
    try:
        repo = hub.open_hub().repo(reference)
    except SourceError as error:
        raise UsageError(
            f"{path} is not here, and the Hub could not be reached: {error.what}",
            where=path,
            fix=f"{error.fix}, or name a file or a folder",
        ) from None
    if not repo.exists:
        fix = f"there is {some_of(repo.nearest)}" if repo.nearest else "look at its name, and at the token"
        raise UsageError(f"the Hub has no dataset {path} that you may see", where=path, fix=fix)
    if not repo.readable:
        fix = "ask for it on its page, or take a token that has it"
        raise UsageError(f"you have no access to {repo.name}", where=path, fix=fix)
    return lambda split: open_hub_rows(repo.name, split, config=config, revision=repo.commit, files=tuple(repo.files))
