"""What the values say that name things: splits, texts."""

import re
from collections.abc import Iterator
from typing import Any, Final

from holdfast.core.check.reference import Reference
from holdfast.core.job.calls import LibraryName

SPLIT: Final = re.compile(r"datasets\.(?:splits\.)?Split\.(?P<name>TRAIN|TEST|VALIDATION)")


def split_of(value: Any) -> str | None:
    """Return the split that a value asks for, several joined by `+`; None if it does not say.

    >>> split_of(["train", "test"]), split_of(LibraryName("datasets.Split.TRAIN")), split_of(None)
    ('train+test', 'train', None)
    """
    if isinstance(value, list | tuple):
        return _joined([split_of(part) for part in value])
    if isinstance(value, LibraryName) and (found := SPLIT.fullmatch(value.path)):
        return found["name"].lower()
    return value if isinstance(value, str) else None


def _joined(splits: list[str | None]) -> str | None:
    """Return splits as one; None if there are none, or if one of them is not known."""
    known = [split for split in splits if split]
    return "+".join(known) if known and len(known) == len(splits) else None


def texts_in(value: Any) -> tuple[str, ...] | None:
    """Return the texts that a value is or holds, however deep; None if one of them is not known.

    >>> texts_in({"train": ["a.json", "b.json"], "test": "c.json"}), texts_in(None), texts_in([3])
    (('a.json', 'b.json', 'c.json'), (), None)
    """
    leaves = [leaf for leaf in _leaves(value) if leaf is not None and leaf != ""]
    return tuple(leaves) if all(isinstance(leaf, str) for leaf in leaves) else None


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the parts of a value, however deep, that are neither lists nor mappings."""
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list | tuple):
        for part in parts:
            yield from _leaves(part)
    else:
        yield value


def without_repeats(references: list[Reference]) -> tuple[Reference, ...]:
    """Return mentions without those that say the same of the same place."""
    first: dict[object, Reference] = {}
    for each in references:
        first.setdefault((each.role, each.name, each.key, each.split, each.files), each)
    return tuple(first.values())
