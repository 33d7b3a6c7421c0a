"""What the values say that name things: splits, texts."""

import re
from typing import Any, Final

from holdfast.core.calls import LibraryName
from holdfast.core.reference import Reference

SPLIT: Final = re.compile(r"datasets\.(?:splits\.)?Split\.(?P<name>TRAIN|TEST|VALIDATION)")


def split_of(value: Any) -> str | None:
    """Return the split that a value asks for, several joined by `+`; None if it does not say.

    >>> split_of(["train", "test"]), split_of(LibraryName("datasets.Split.TRAIN")), split_of(None)
    ('train+test', 'train', None)
    """
    if isinstance(value, list | tuple):
        parts = [split_of(part) for part in value]
        return "+".join(part for part in parts if part) if parts and all(parts) else None
    if isinstance(value, LibraryName) and (found := SPLIT.fullmatch(value.path)):
        return found["name"].lower()
    return value if isinstance(value, str) else None


def texts_in(value: Any) -> tuple[str, ...] | None:
    """Return the texts that a value is or holds, however deep; None if one of them is not known.

    >>> texts_in({"train": ["a.json", "b.json"], "test": "c.json"}), texts_in(None), texts_in([3])
    (('a.json', 'b.json', 'c.json'), (), None)
    """
    if value is None or isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list | tuple | dict):
        return None
    found = [texts_in(part) for part in (value.values() if isinstance(value, dict) else value)]
    return None if None in found else tuple(text for texts in found for text in texts or ())


def without_repeats(references: list[Reference]) -> tuple[Reference, ...]:
    """Return mentions without those that say the same of the same place."""
    first: dict[object, Reference] = {}
    for each in references:
        first.setdefault((each.role, each.name, each.key, each.split, each.files), each)
    return tuple(first.values())
