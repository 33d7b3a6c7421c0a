"""Writing edits of a document back into the script that it was read from, touching nothing else.

A new name and a new value replace what stands at their places. An argument that comes or goes changes its call: that is
parsed alone, by LibCST, which keeps comments and layout; it is imported when there is such an edit.

Covered: arguments that are written as keywords of a call, or as keys of a literal dict.
Not covered: values that come from elsewhere, such as a loop or a file; a job's requirements.
"""

import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from holdfast.adapters.readers.notebook_edits import source_lines
from holdfast.core.document import Document, Edit, Remove, Rename, parse_key
from holdfast.core.errors import Spot, UsageError
from holdfast.core.text import Lines, Place, TextEdit

QUOTES = "\"'"


def place_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits.

    Raises:
        UsageError: One of them cannot be made in this text.
    """
    placed: list[TextEdit] = []
    changed: dict[str, list[Edit]] = {}
    for edit in edits:
        if (text_edit := _in_place(document, edit)) is not None:
            placed.append(text_edit)
        else:
            changed.setdefault(edit.key.rpartition(".")[0], []).append(edit)
    placed += [_rewritten(document, key, rest) for key, rest in changed.items()]
    return tuple(sorted(set(placed), key=lambda edit: (edit.cell or 0, edit.start)))


def _in_place(document: Document, edit: Edit) -> TextEdit | None:
    """Return the edit as a replacement of one name or value, or None where an argument comes or goes."""
    key = parse_key(edit.key)
    if isinstance(edit, Rename):
        place = document.key_places.get(key)
        return None if place is None else _replaced(document, place, edit.name)
    place = document.places.get(key)
    if isinstance(edit, Remove) or place is None or place.end_line is None:
        return None
    return _at(place, render_value(edit.value))


def _replaced(document: Document, place: Place, name: str) -> TextEdit:
    """Return the edit that writes another name, in the quotes that the old one has as a dict's key."""
    old = source_at(document, place)
    quote = old[0] if old[:1] and old[0] in QUOTES else ""
    return _at(place, f"{quote}{name}{quote}")


def _at(place: Place, text: str) -> TextEdit:
    start, end = (place.line or 1, place.column or 1), (place.end_line or 1, place.end_column or 1)
    return TextEdit(start, end, text, place.cell)


def _rewritten(document: Document, key: str, edits: Iterable[Edit]) -> TextEdit:
    """Return the edit that changes which arguments a call has."""
    call = next((call for call in document.calls if call.key == key), None)
    if call is None or call.place.path != document.path:
        raise _refusal(document, key, "there is no call of its own that it could stand in")
    old = source_at(document, call.place)
    new = import_module("holdfast.adapters.readers.script.arguments").change(old, edits)
    if new is None:
        raise _refusal(document, key, "the call is not written out there")
    return _least(call.place, old, new)


def _least(place: Place, old: str, new: str) -> TextEdit:
    """Return the smallest replacement that turns the text at a place into another."""
    shortest = min(len(old), len(new))
    start = next((index for index in range(shortest) if old[index] != new[index]), shortest)
    same = next((index for index in range(shortest - start) if old[-1 - index] != new[-1 - index]), shortest - start)
    lines, line, column = Lines(old), place.line or 1, place.column or 1

    def moved(offset: int) -> tuple[int, int]:
        row, col = lines.position(offset)
        return line + row - 1, col + (column - 1 if row == 1 else 0)

    return TextEdit(moved(start), moved(len(old) - same), new[start : len(new) - same], place.cell)


def source_at(document: Document, place: Place) -> str:
    """Return the text that stands at a place of a document, or of one cell of a notebook."""
    text = document.text
    if place.cell is not None:
        text = "".join(line.text for line in source_lines(text, place.cell))
    lines = Lines(text)
    start = lines.offset((place.line or 1, place.column or 1))
    return text[start : lines.offset((place.end_line or 1, place.end_column or 1))]


def render_value(value: Any) -> str:
    """Return a plain value as Python writes it, text in double quotes.

    >>> render_value({"a": ["x", None, 1e-5]})
    '{"a": ["x", None, 1e-05]}'
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_value(key)}: {render_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(render_value, value)) + "]"
    return repr(value)


def _refusal(document: Document, key: str, because: str) -> UsageError:
    place = document.place(key)
    where = Spot(place.path, place.line, place.column)
    return UsageError(f"cannot change `{key}`: {because}", where=where, fix="make the change by hand")
