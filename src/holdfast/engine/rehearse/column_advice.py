"""The advice on a column that something reads, and that the rows do not have."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.core.job.notebook import is_notebook
from holdfast.core.text.nearest import nearest
from holdfast.engine.rehearse.circumstances import (
    MISSING_KEY,
    Advice,
    Circumstances,
    describe_function,
    instead_of,
    listed,
)
from holdfast.engine.rehearse.column_changes import find_column_change
from holdfast.engine.rehearse.tracebacks import FailingLine, spell_place

COLLATOR: Final = "collator"


def advise_column(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the column that is requested, beside those that there are."""
    missing = MISSING_KEY.match(about.error)
    if not missing or not about.columns or missing[1] in about.columns or name != "dataset-missing-column":
        return
    column = missing[1]
    if about.line and about.line.role == COLLATOR:
        reads = f"{describe_function(about.line)} reads `{column}`, and the rows that it is given have none."
        yield Advice(reads, f"Read a column that they have{about.at}; the tokens that a trainer makes are `input_ids`.")
    elif _is_named_at(about.line, column):
        yield Advice(_lacks_column(column, about), f"{instead_of(column, about.columns, 'Read')}{about.at}.")
    else:
        yield _column_of_no_line(column, about)


def _is_named_at(line: FailingLine | None, column: str) -> bool:
    """True if a line has a column's name in quotes."""
    return line is not None and re.search(rf"['\"]{re.escape(column)}['\"]", line.code) is not None


def _lacks_column(column: str, about: Circumstances) -> str:
    return f"The rows have no column `{column}`; they have {listed(about.columns)}."


def _column_of_no_line(column: str, about: Circumstances) -> Advice:
    """Return the advice on a column that no line of the script names; the trainer may read it."""
    reader = f"`{about.trainer}` reads it. " if about.trainer else ""
    there = f"{_lacks_column(column, about)} {reader}".strip()
    if column in about.loaded:
        return _lost_column(column, about, there)
    near = nearest(column, about.columns)
    change = f"Rename `{near}` to `{column}`" if near else f"Make a column `{column}`"
    shown = f"; `holdfast inspect {about.inspected}` shows what the method reads" if about.inspected else ""
    return Advice(there, f"{change}{_before(about)}{shown}.")


def _before(about: Circumstances) -> str:
    return f" before {about.where}" if about.where else ""


def _lost_column(column: str, about: Circumstances, there: str) -> Advice:
    """Return the advice on a column that the script has loaded, and that is not in the rows any more."""
    change = find_column_change(column, about.sources)
    if change is None:
        return Advice(
            f"{there} The rows had it when they were loaded; the script renames or removes it.",
            f"Keep the column `{column}` in what the script does to the rows{_before(about)}.",
        )
    cells = about.line.cells if about.line and is_notebook(change.path) else ()
    place = spell_place(change.path, change.line, cells)
    does = f"renames it to `{change.renamed}`" if change.renamed else "removes it"
    return Advice(
        f"{there} The rows had it when they were loaded; {place} {does}.",
        f"Do not {'rename' if change.renamed else 'remove'} `{column}` at {place}.",
    )
