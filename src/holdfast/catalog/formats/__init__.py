"""What TRL 1.16 takes a dataset for, by the types of its columns, and which methods can train on it.

    columns = settle(columns, samples)              # types that nobody knows, from rows
    shape = recognise(columns, samples)
    readiness = judge("dpo", columns, shape)        # .ready, .because, .caveat
    read_columns("dpo", columns)                    # ("chosen", "rejected"): where a bad row would be met

A type that is None is one that nobody knows: nothing is held against such a column.
"""

from holdfast.catalog.formats.forms import Form, form_of, forms_of, settle, types_of_rows
from holdfast.catalog.formats.judging import holds_no_messages, judge, read_columns
from holdfast.catalog.formats.recognising import recognise
from holdfast.catalog.formats.settings import DEFAULTS, ColumnSettings

__all__ = [
    "DEFAULTS",
    "ColumnSettings",
    "Form",
    "form_of",
    "forms_of",
    "holds_no_messages",
    "judge",
    "read_columns",
    "recognise",
    "settle",
    "types_of_rows",
]
