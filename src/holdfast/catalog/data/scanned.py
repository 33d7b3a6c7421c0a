"""What rules about rows have in common: how many there are, which come first, and how that is reported."""

from collections.abc import Iterator
from typing import Final

from holdfast.core.check.finding import Finding, MissingFactError, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import ListOf
from holdfast.core.rows.scan import DamagedRows, Mark, Scan

MOST_LISTED: Final = 5
"""So many row numbers stand in a message; `inspect` lists more of them."""
REWRITTEN: Final = ("dataset.map", "train.dataset_kwargs", "train.formatting_func")


def damaged(job: Document, scan: Scan, mark: Mark) -> Iterator[DamagedRows]:
    """Yield the rows with one kind of damage.

    Raises:
        MissingFactError: There are some, and the job rewrites its rows before a trainer reads them.
    """
    for marked in scan.marked:
        if marked.mark != mark:
            continue
        require_rows_as_read(job)
        yield marked


def require_rows_as_read(job: Document) -> None:
    """Check that a trainer reads the rows that were scanned.

    Raises:
        MissingFactError: The job rewrites its rows first.
    """
    for key in REWRITTEN:
        if job.get(key, None) is not None:
            raise MissingFactError(key, f"what the rows are after `{key}` is not known before the job runs")


def rows_phrase(scan: Scan, marked: DamagedRows, what: str) -> str:
    """Return a phrase with the number of such rows, and examples of their numbers.

    Args:
        scan: All that was read.
        marked: The rows.
        what: What they have or are, with `{has}`, `{is_}`, `{does}` and `{s}` where one row and several differ.

    >>> rows_phrase(Scan(rows=15806), DamagedRows("no-assistant", "messages", 3, (3, 17, 99)), "{has} no assistant turn")
    '3 of 15,806 rows have no assistant turn: 3, 17, 99'
    >>> rows_phrase(Scan(rows=9), DamagedRows("no-assistant", "messages", 1, (3,)), "end{s} with a question")
    'Row 3 ends with a question'
    """
    one = marked.count == 1
    verbs = (
        {"has": "has", "is_": "is", "does": "does", "s": "s"}
        if one
        else {"has": "have", "is_": "are", "does": "do", "s": ""}
    )
    if one and marked.rows:
        return f"Row {marked.rows[0]:,} {what.format(**verbs)}"
    return f"{marked.count:,} of {scan.rows:,} rows {what.format(**verbs)}{numbers(marked)}"


def found(marked: DamagedRows, message: str, *, key: str = "dataset", severity: Severity | None = None) -> Finding:
    """Return the finding about some rows, with their numbers."""
    return Finding(key, message, severity=severity, rows=marked.rows, count=marked.count)


def numbers(marked: DamagedRows) -> str:
    """Return the numbers of the first rows as they stand at the end of a message; nothing if there are none.

    >>> numbers(DamagedRows("null", "text", 7, (0, 2, 4, 6, 8, 10, 12)))
    ': 0, 2, 4, 6, 8, …'
    """
    if not marked.rows:
        return ""
    listed = [str(row) for row in marked.rows[:MOST_LISTED]]
    return ": " + ", ".join([*listed, "…"] if marked.count > len(listed) else listed)


def share(scan: Scan, marked: DamagedRows) -> float:
    """Return which part of all rows these are, from 0 to 1."""
    return marked.count / scan.rows if scan.rows else 0.0


def holds_messages(scan: Scan, column: str) -> bool:
    """True if a column holds lists, as conversations are, and no texts."""
    return isinstance(scan.columns.get(column), ListOf)
