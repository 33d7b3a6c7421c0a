"""Putting another program's settings under the keys of our own, each with its place."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Key, Set, Unknown, apply_edits, parse_key
from holdfast.core.text.places import Place

SWITCHES: Final = {"yes": True, "on": True, "no": False, "off": False}
"""What YAML 1.1, which other programs read, takes for true and false; in ours they are text."""


def setting(document: Document, key: str) -> Any:
    """Return a value as a reader of YAML 1.1 has it."""
    value = document.get(key)
    if not isinstance(value, str) or value.lower() not in SWITCHES:
        return value
    place = document.places.get(parse_key(key))
    if place is None or place.line is None:
        return Unknown("it stands for itself, or for true or false")
    written = document.text.splitlines()[place.line - 1][(place.column or 1) - 1 :]
    return value if written[:1] in ("'", '"') else SWITCHES[value.lower()]


def mapped(
    document: Document, keys: Iterable[tuple[str, str]], calls: Iterable[Call], constants: Mapping[str, Any]
) -> Document:
    """Return a document with settings under other keys, and the calls that they come to.

    Args:
        document: What was read.
        keys: Their key and ours, both dotted. One setting may stand under several of ours.
        calls: What the settings are passed on to.
        constants: What the file means without saying so, by our key.
    """
    renamed = [(theirs, ours) for theirs, ours in keys if _is_set(document.get(theirs), ours)]
    edits = [Set(key, value) for key, value in constants.items()]
    edits += [Set(ours, setting(document, theirs)) for theirs, ours in renamed]
    return replace(
        document,
        kind="command",
        values=apply_edits({}, edits),
        places=_moved(document.places, renamed),
        key_places=_moved(document.key_places, renamed),
        calls=tuple(calls),
    )


def _is_set(value: Any, key: str) -> bool:
    """True if a setting is one; a quantization that is switched off is none."""
    return value is not ABSENT and value is not None and not (value is False and key.startswith("quantization."))


def installed_by(program: str, requirements: Iterable[str]) -> dict[str, Any]:
    """Return the marker that a program runs with versions of its own choice, regardless of those installed around its file."""
    return {"launch.by": [program], "launch.requirements": list(requirements)}


def _moved(places: Mapping[Key, Place], keys: Iterable[tuple[str, str]]) -> dict[Key, Place]:
    return {parse_key(ours): places[parse_key(theirs)] for theirs, ours in keys if parse_key(theirs) in places}


def passed_on(
    document: Document, path: str, names: Iterable[str], *, label: str = "", own: frozenset[str] = frozenset()
) -> Call:
    """Return the call that settings at the top of a file come to, each under its own name.

    Args:
        document: What was read.
        path: What is called.
        names: The settings.
        label: How to speak of it.
        own: Names that the other program takes itself, though a library may have had them once.
    """
    whole = Place(document.path, 1, 1)
    return Call(
        path=path,
        label=label or path,
        key="train",
        arguments={name: setting(document, name) for name in names},
        defaults=frozenset(names),
        open=True,
        own=own,
        place=whole,
        name_place=whole,
        via="parser",
    )
