"""Measuring the rows that a job trains on: with the tokenizer of its model, if they are in files of this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.app.check.script_rows import OLDEST, question_of_rows, rows_at_hand
from holdfast.app.hub_access import HubAccess
from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.builtin import BUILTIN
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document, Set
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.references import references

LIMIT: Final = 5_000
"""Rows that are tokenized at most, spread over all: in a few seconds, and the mean of a batch is within about 2 %."""
NAME: Final = "dataset"


def measure_trained_rows(document: Document, api: Api, outside: ReferenceResolver, hub: HubAccess) -> RowLengths:
    """Return how long the rows are that a job or a program trains on; their prompts, where it generates the rest.

    Raises:
        MissingFactError: They are not in files of this machine, a function rewrites them, or the job does not show what decides it.
        SourceError: They, or the tokenizer, cannot be read.
        UsageError: The `data` extra is not installed.
    """
    if document.kind == "job":
        _require_local(document, outside)
        rows_document, files = document, None
    else:
        rows_document, files = _script_question(document, api, outside)
    from holdfast.app.row_measuring import measure_all_rows  # with polars, which few plans need

    return measure_all_rows(rows_document, api=api, files=files, limit=LIMIT, offline=hub is not HubAccess.ASKED)


def _require_local(job: Document, outside: ReferenceResolver) -> None:
    """Refuse rows that are not in files of this machine, or that the job changes before it trains on them.

    Raises:
        MissingFactError: The rows are elsewhere, or holdfast makes them, or a function rewrites them.
    """
    path, function = str(job.get("dataset.path", None)), job.get("dataset.map", None)
    if function is not None:
        raise MissingFactError(NAME, f"`{function}` rewrites them, and is not run here")
    if path.startswith(BUILTIN):
        raise MissingFactError(NAME, f"holdfast makes {path} when the job runs")
    if outside.here.path(path) is None:
        raise MissingFactError(NAME, "they are not in files of this machine")


def _script_question(program: Document, api: Api, outside: ReferenceResolver) -> tuple[Document, Mapping[str, Path]]:
    """Return the data that a program trains on as it is in files, as a question about data, and the file of each split.

    Raises:
        MissingFactError: The source does not show that there is such data.
    """
    rows = rows_at_hand(program, outside)
    model = next((each.name for each in references(program) if each.role == "model"), None)
    if rows is None or model is None:
        raise MissingFactError(NAME, "the source does not show which files of this machine they are in")
    if not since(api, "trl", OLDEST):
        raise MissingFactError(NAME, f"what its trainers make of rows is known from trl {OLDEST} on")
    files = {split: path for split, name in rows.files.items() if (path := outside.here.path(name))}
    rows_document = question_of_rows(program, rows)
    return rows_document.with_values([Set("model", {"path": model})], rows_document.place("dataset")), files
