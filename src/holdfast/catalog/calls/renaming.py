"""How a renamed argument is reported and fixed: in the call, and wherever the program reads it back."""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.api import Api, released
from holdfast.catalog.calls.renames import Renamed
from holdfast.core.check.finding import Fix
from holdfast.core.job.api import Span
from holdfast.core.job.calls import AttributeRead, Call
from holdfast.core.job.document import Document, Remove, Rename, Set


def renaming_fix(job: Document, call: Call, change: Renamed) -> Fix | None:
    """Return the edit that writes a call's argument under its new name, as far as the value is known to mean the same."""
    if not change.new or change.new in call.arguments:
        return None
    value, key = call.arguments[change.old], f"{call.key}.{change.old}"
    if value is None and change.none:
        return Fix(f"remove `{change.old}`", (Remove(key),), safe=False)
    if change.switch is not None:
        return _switching_fix(call, change, value)
    edits = (Rename(key, change.new), *renamed_reads(job, call, change.old, change.new))
    return Fix(f"rename `{change.old}` to `{change.new}`", edits, safe=_means_same(job, call, change))


def _means_same(job: Document, call: Call, change: Renamed) -> bool:
    """True if an argument means the same under its new name, and all that reads it back is renamed with it."""
    value = call.arguments[change.old]
    keeps = change.keeps(_number(value) if call.via == "parser" else value)
    return keeps and not any(each.path == "" for each in reads_of(job, call, change.old))


def _switching_fix(call: Call, change: Renamed, value: Any) -> Fix | None:
    """Return the edit that writes a switch as a value of the argument that took its place; None if it may be on or off."""
    if not isinstance(value, bool):
        return None
    removal = Remove(f"{call.key}.{change.old}")
    if not value:
        return Fix(f"remove `{change.old}`", (removal,))
    switch = list(change.switch) if isinstance(change.switch, tuple) else change.switch
    return Fix(f"write `{change.new}`", (removal, Set(f"{call.key}.{change.new}", switch)))


def reads_of(job: Document, call: Call, name: str) -> Iterator[AttributeRead]:
    """Yield where the program reads an argument of a call back, as an attribute of what the call makes."""
    yield from (read for read in job.reads if read.name == name and call.key in read.calls and not read.guard.because)


def renamed_reads(job: Document, call: Call, old: str, new: str) -> Iterator[Rename]:
    """Yield the edits that give an argument's reads its new name; what other settings are read from keeps its own."""
    yield from (Rename(f"{read.key}.{old}", new) for read in reads_of(job, call, old) if read.path)


def spelled_renaming(change: Renamed) -> str:
    """Return a renaming as a phrase: ``renamed to `max_length` ``."""
    if change.switch is None:
        return f"renamed to `{change.new}`"
    return f"it is `{change.new}={_shown(change.switch)}` now"


def spelled_since(api: Api, path: str, change: Renamed, gone: Span | None) -> str:
    """Return the releases of a renaming: ` in trl 0.16.0, removed in 0.20.0`."""
    if gone is None:
        return ""
    came = next((span.first for span in api.parameter_spans(path, change.new) if span.package == gone.package), None)
    order = released(gone.package)
    before = came is not None and gone.after is not None and 0 < order.index(came) < order.index(gone.after)
    if not before or change.switch is not None:
        return f", removed in {gone.package} {gone.after}"
    return f" in {gone.package} {came}, removed in {gone.after}"


def note_for(change: Renamed, value: object) -> str:
    """Return the note about a renamed argument with a value."""
    return "; ".join(filter(None, (change.note, change.none if value is None else "")))


def noted(note: str) -> str:
    """Return a note as the last part of a message."""
    return f"; {note}" if note else ""


def _number(value: Any) -> Any:
    """Return the number that a command line's text is, or the text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _shown(value: Any) -> str:
    shown = list(value) if isinstance(value, tuple) else value
    return f'"{shown}"' if isinstance(shown, str) else str(shown).replace("'", '"')
