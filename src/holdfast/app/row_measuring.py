"""Measuring how many tokens a trainer keeps of rows that are in files of this machine."""

from collections.abc import Mapping
from pathlib import Path

from holdfast.adapters.tokens import load_tokenizer, want_tokenizer
from holdfast.app.inspect.rows import RowSource
from holdfast.app.inspect.tokenizing import count_training_rows
from holdfast.catalog.api import Api
from holdfast.core.job.document import Document
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.tokens import measure_rows, read_recipe


def measure_all_rows(
    document: Document, *, limit: int, offline: bool, api: Api | None = None, files: Mapping[str, Path] | None = None
) -> RowLengths:
    """Return how long the rows are that a trainer keeps.

    Args:
        document: The data, the model and the method, as a question about data.
        limit: Rows that are tokenized at most, spread over all.
        offline: Don't contact the Hub for the tokenizer.
        api: The versions at hand; those that job files get where none are given.
        files: The file of each split, where the data has no folder of its own.

    Raises:
        MissingFactError: The job does not show what decides it.
        SourceError: The rows, or the tokenizer, cannot be read.
        UsageError: The `data` extra is not installed.
    """
    source = RowSource(document, offline=True, files=files)
    tokenizer = load_tokenizer(want_tokenizer(document, offline=offline))
    there = sum(batch.frame.height for batch in source.open().batches())
    rows = count_training_rows(document, there)
    return measure_rows(source.open(), tokenizer, read_recipe(document, api=api), limit=limit, of=rows)
