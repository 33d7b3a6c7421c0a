"""The one call with which a program loads its data, and the methods after it that keep the number of rows."""

import re
from typing import Final

from holdfast.core.check.reference import Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

LOAD: Final = "datasets.load_dataset"
KEEPING_ROWS: Final = (
    rf"{re.escape(LOAD)}\(\)(?:\.(?:shuffle|sort|rename_columns?|remove_columns|select_columns|cast)\(\))*"
)
"""A pattern of what is called on the loaded data and leaves the number of rows as it is."""


def only_load(job: Document) -> Call | None:
    """Return the one call of `load_dataset`; None if there are none or several."""
    loads = [call for call in job.calls if call.path == LOAD]
    return loads[0] if len(loads) == 1 else None


def is_named_by(reference: Reference, call: Call | None) -> bool:
    """True if a call names a thing."""
    return call is not None and reference.key.startswith(f"{call.key}.")
