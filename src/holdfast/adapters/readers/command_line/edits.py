"""Writing edits of a command line's options back into its text.

Covered: another name and another value of an option that is written out, and taking one out.
Not covered: options that come from a variable of the shell or from a file.
"""

import shlex
from collections.abc import Iterable
from typing import Any

from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.document import Document, Edit, Remove, Rename, Set, parse_key
from holdfast.core.text.places import Place, TextEdit


def place_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits.

    Raises:
        UsageError: One of them cannot be made in this text.
    """
    return tuple(_placed(document, edit) for edit in edits)


def _placed(document: Document, edit: Edit) -> TextEdit:
    placed = _in_place(document, edit)
    if placed is None:
        spot = Spot.of(document.place(edit.key))
        raise UsageError(f"cannot change `{edit.key}` in this command", where=spot, fix="make the change by hand")
    return placed


def _in_place(document: Document, edit: Edit) -> TextEdit | None:
    """Return the text edit that makes an edit; None if it cannot be made in this text."""
    key = parse_key(edit.key)
    option, value = _here(document, document.key_places.get(key)), _here(document, document.places.get(key))
    if isinstance(edit, Set):
        return _set(document, edit, option, value)
    if isinstance(edit, Rename) and option:
        return _at(option, option, f"--{edit.name}")
    if isinstance(edit, Remove) and option and value:
        return _at(option, value, "")
    return None


def _set(document: Document, edit: Set, option: Place | None, value: Place | None) -> TextEdit | None:
    words = render_words(edit.value)
    if option and value and value != option:
        return _at(value, value, words)
    if option and document.get(edit.key) is True:  # the option has no value
        return _at(option, option, f"--{parse_key(edit.key)[-1]} {words}")
    return _appended(document, edit, words)


def _appended(document: Document, edit: Set, words: str) -> TextEdit | None:
    """Return the text edit that adds an option at the end of its command; None if the option is there."""
    key, call = parse_key(edit.key), _call(document, edit)
    if key in document.places or call is None:
        return None
    end = Place(call.path, call.end_line, call.end_column, call.end_line, call.end_column)
    return _at(end, end, f" --{key[-1]} {words}")


def _here(document: Document, place: Place | None) -> Place | None:
    """Return a place that is written out in the command; what a file or a variable of the shell gives is not."""
    if place is None or place.path != document.path:
        return None
    line = document.text.splitlines()[(place.line or 1) - 1]
    return None if line[(place.column or 1) - 1 :].startswith("$") else place


def _call(document: Document, edit: Edit) -> Place | None:
    key = edit.key.rpartition(".")[0]
    return next((call.place for call in document.calls if call.key == key), None)


def _at(first: Place, last: Place, text: str) -> TextEdit:
    start, end = (first.line or 1, first.column or 1), (last.end_line or 1, last.end_column or 1)
    return TextEdit(start, end, text)


def render_words(value: Any) -> str:
    """Return a value as the words of a command line, quoted where a shell needs it.

    >>> render_words(["a b", 1, True])
    "'a b' 1 true"
    """
    if isinstance(value, list):
        return " ".join(map(render_words, value))
    return shlex.quote(str(value).lower() if isinstance(value, bool) else str(value))
