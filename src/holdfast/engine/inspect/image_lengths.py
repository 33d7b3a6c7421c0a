"""Rows whose images alone have more tokens than a training keeps of a row."""

from collections import Counter
from collections.abc import Mapping

from holdfast.catalog.calls.train_arguments import arguments
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.job.methods import Method
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows


def mark_cut_images(tokens: Mapping[int, Mapping[str, int]], document: Document) -> tuple[DamagedRows, ...]:
    """Return the rows whose images are longer than sft's `max_length`, under the column with most of their tokens.

    Args:
        tokens: Of the images of each row, by its number and their column.
        document: The request.
    """
    longest = document.get("train.max_length")
    if longest is ABSENT:
        longest = arguments(Method.SFT.value)["max_length"].default
    if document.get("method", Method.SFT.value) != Method.SFT.value or not isinstance(longest, int):
        return ()
    rows = {row: sum(columns.values()) for row, columns in tokens.items() if sum(columns.values()) > longest}
    if not rows:
        return ()
    (column, _), *_ = sum((Counter(tokens[row]) for row in rows), Counter[str]()).most_common(1)
    detail = f"{max(rows.values()):,} tokens, more than `max_length` ({longest:,})"
    return (DamagedRows("images-beyond-max-length", column, len(rows), tuple(rows)[:FIRST_ROWS], detail),)
