"""What a model's tokenizer makes of the rows of a dataset."""

from math import ceil

from holdfast.adapters.tokens import load_tokenizer, want_tokenizer
from holdfast.app.inspect.rows import DataPreview, RowSource
from holdfast.core.job.document import Document
from holdfast.core.rows.row_numbers import renumber_tokens
from holdfast.core.rows.scan import MaskedRow, Scan, Tokens
from holdfast.engine.mapping.applying import map_batches, map_rows
from holdfast.engine.tokens import read_recipe, show_row, tokenize_rows


def tokenize(
    document: Document, source: RowSource, sight: DataPreview, scan: Scan, limit: int, *, mapping: str | None
) -> tuple[Tokens, tuple[MaskedRow, ...]]:
    """Return the tokens of the rows, and the first row as the model is shown it.

    Args:
        document: The request; it names a method and a model.
        source: The rows.
        sight: What the first of them show.
        scan: What reading them showed.
        limit: Rows that are tokenized at most, spread over all.
        mapping: Source of the module whose `rewrite` goes over the rows first; None if the method takes them as they are.

    Raises:
        UsageError: The `data` extra is not installed.
        SourceError: The tokenizer cannot be had, or there are no rows.
        MissingFactError: A setting that decides it is hidden.
    """
    recipe, tokenizer = read_recipe(document), load_tokenizer(want_tokenizer(document, offline=source.offline))
    rows = source.open() if mapping is None else map_batches(source.open(), mapping)
    tokens = tokenize_rows(rows, tokenizer, recipe, limit=limit, of=count_training_rows(document, scan.rows))
    first = next(iter(sight.samples if mapping is None else map_rows(sight.samples, mapping)), None)
    shown = show_row(0, first, tokenizer, recipe) if first is not None and not tokens.failed.count else []
    return renumber_tokens(tokens, source.numbers), tuple(shown)


def count_training_rows(document: Document, there: int) -> int:
    """Return the number of rows to train on: those that a job draws, without those it holds out.

    Args:
        document: The request.
        there: Rows of the split.

    >>> job = {"dataset": {"path": "rows.jsonl", "rows": 50, "eval_fraction": 0.1}}
    >>> count_training_rows(Document(path="job.yaml", kind="job", values=job), 80)
    45
    """
    drawn, held = document.get("dataset.rows", None), document.get("dataset.eval_fraction", None)
    is_mixed = bool(document.get("dataset.mix", None))  # then there are other rows, too
    rows = (drawn if is_mixed else min(there, drawn)) if isinstance(drawn, int) else there
    return rows - ceil(rows * held) if isinstance(held, float) else rows
