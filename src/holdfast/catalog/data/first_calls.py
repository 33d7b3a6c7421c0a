"""The call that loads the data on which another call works first."""

from typing import Final

from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import Severity
from holdfast.core.check.reference import Lookup
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

KEEPING: Final = frozenset(
    {"filter", "select", "shuffle", "shard", "sort", "skip", "take", "train_test_split", "flatten_indices"}
)
"""Methods that keep the columns."""
LOADING: Final = frozenset({"load_dataset", "load_from_disk", "from_json", "from_csv", "from_parquet"})
IN_MEMORY: Final = frozenset({"from_list", "from_dict"})
WHOLE: Final = frozenset({"csv", "parquet", "arrow", "saved"})
"""Readers of files that name their columns themselves."""


def loading_call(job: Document, call: Call) -> Call | None:
    """Return the call that loads what another is called on, if nothing between them changes the columns; None if that is not seen."""
    given = job.call(call.receiver.key) if call.receiver else None
    while given is not None and given.name in KEEPING:
        given = job.call(given.receiver.key) if given.receiver else None
    if given is None or given.name not in LOADING | IN_MEMORY or given.guard.because:
        return None
    return given if given.arguments.get("streaming", False) is False else None


def severity_by_rows(lookup: Lookup[Dataset]) -> Severity | None:
    """Return a warning where later rows may have more columns."""
    read = lookup.reference.read
    partly = lookup.fact.rows is None and read is not None and read.reader not in WHOLE
    return Severity.WARNING if partly else None
