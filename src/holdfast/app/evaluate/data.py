"""The rows of a dataset that is evaluated on: of a file, a folder, the Hub, or those that holdfast makes itself."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.rows.names import BadDataError
from holdfast.app.inspect.rows import SAMPLES, RowSource
from holdfast.app.models.near_files import suggest_path
from holdfast.catalog.builtin import BUILTIN, DATASETS, stdlib_docstrings
from holdfast.catalog.formats import ColumnSettings, recognise, settle, types_of_rows
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import Type
from holdfast.core.rows.unpacking import unpack_rows
from holdfast.core.text.nearest import suggest_one
from holdfast.engine.mapping.found import DataProfile, lacking_rows
from holdfast.ports import Rows

SPLITS: Final = ("test", "validation", "train")
"""The split that is taken where none is requested: the first of them that there is."""
MESSAGES: Final = "messages"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationData:
    """The rows of a dataset.

    Attributes:
        name: As it was named.
        split: The split.
        of: How many rows that has.
        rows: Those that are evaluated, by their numbers.
        columns: The types of its columns.
        broken: How many parts of its files could not be read.
    """

    name: str
    split: str
    of: int
    rows: Mapping[int, Row]
    columns: Mapping[str, Type]
    broken: int = 0

    def profile(self, *, chat: bool) -> DataProfile:
        """Return the facts about the data, for a model with or without a chat template."""
        samples = tuple(dict(row) for _, row in zip(range(SAMPLES), self.rows.values(), strict=False))
        settings = ColumnSettings(chat_template=chat)
        columns = settle(self.columns, samples)
        return DataProfile(
            columns=columns,
            samples=samples,
            shape=recognise(columns, samples, settings),
            settings=settings,
            lacking=lacking_rows(columns, tuple(self.rows.values())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """The rows of a dataset that are evaluated.

    Attributes:
        split: The split, or a slice or sum of splits; None for the first of test, validation and train that there is.
        config: The configuration of a Hub dataset.
        most: The most rows, drawn at random; None for all.
        seed: Of the draw.
    """

    split: str | None = None
    config: str | None = None
    most: int | None = None
    seed: int = 0


def find_data(name: str, *, config: str | None, offline: bool, where: str = "--on") -> "RowSource | None":
    """Return the source of a dataset's rows, before any is read; None of those that holdfast makes itself.

    Raises:
        UsageError: There is no such dataset.
    """
    if name.startswith(BUILTIN):
        if name not in DATASETS:
            fix = suggest_one(name, tuple(DATASETS))
            raise UsageError(f"holdfast makes no dataset {name}", where=where, fix=fix)
        return None
    path = expanded(name)
    if not is_there(path) and not _may_be_on_hub(name):
        fix = suggest_path(path, "name a file, a folder or a dataset of the Hub")
        raise UsageError(f"no such file or folder: {name}", where=where, fix=fix)
    dataset = {"path": name, "split": "train"} | ({"config": config} if config else {})
    return RowSource(Document(path=name, kind="data", values={"dataset": dataset}), offline=offline)


def _may_be_on_hub(name: str) -> bool:
    return may_be_repository(name) and not expanded(name).suffix and not name.startswith((".", "/", "~"))


def read_data(name: str, source: RowSource | None, choice: RowChoice) -> EvaluationData:
    """Return the rows of a dataset.

    Args:
        name: As it was named.
        source: Its rows; None of those that holdfast makes itself.
        choice: Which rows.

    Raises:
        SourceError: They cannot be read.
    """
    if source is None:
        return _limited(_made(name, choice.config or MESSAGES, choice.split or "test"), choice)
    rows, chosen = _open(source, choice.split)
    numbered = dict(iterate_rows(rows))
    data = EvaluationData(
        name=name, split=chosen, of=len(numbered), rows=numbered, columns=rows.columns, broken=len(rows.broken)
    )
    return _limited(data, choice)


def _made(name: str, config: str, split: str) -> EvaluationData:
    try:
        rows = stdlib_docstrings.rows(config, split)
    except ValueError as error:
        raise UsageError(str(error), where=name, fix="it has the splits train and test") from error
    return EvaluationData(name=name, split=split, of=len(rows), rows=dict(enumerate(rows)), columns=types_of_rows(rows))


def iterate_rows(rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield rows with their numbers."""
    for batch in rows.batches():
        yield from enumerate(unpack_rows(batch.frame.iter_rows(named=True), rows.columns), batch.start)


def _open(source: RowSource, split: str | None) -> tuple[Rows, str]:
    for name in () if split else SPLITS[:-1]:
        try:
            return source.open(name), name
        except BadDataError:  # no such split, most likely; what else is wrong shows with the last one
            continue
    chosen = split or SPLITS[-1]
    return source.open(chosen), chosen


def _limited(data: EvaluationData, choice: RowChoice) -> EvaluationData:
    """Return the data with as many rows as are requested, drawn at random, in their order."""
    if choice.most is None or choice.most >= len(data.rows):
        return data
    drawn = sorted(random.Random(choice.seed).sample(sorted(data.rows), choice.most))  # noqa: S311 - no secret
    return replace(data, rows={number: data.rows[number] for number in drawn})
