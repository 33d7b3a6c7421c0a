"""Rows that holdfast prepared earlier: how they came to be."""

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.prepared_rows import RECORD, changed_files, read_record
from holdfast.results.inspect import PreparedRows


def describe_prepared(path: str) -> PreparedRows | None:
    """Return how the rows in a folder came to be; None if holdfast did not prepare them."""
    folder = expanded(path)
    record = read_record(folder) if is_there(folder / RECORD) else None
    if record is None:
        return None
    return PreparedRows(
        sources=record.sources,
        rewritten_by=record.map,
        chosen=record.chosen,
        rows={split: each.rows for split, each in record.files.items()},
        changed=changed_files(folder, record),
    )
