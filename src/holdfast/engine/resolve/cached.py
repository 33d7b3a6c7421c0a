"""Resolving what many scripts declare alike once: those of a folder often stand on the same few lines."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.text.places import NOWHERE
from holdfast.engine.resolve import Resolution, resolve

REMEMBERED: Final = 256
"""Of a folder's scripts rarely so many declare different things."""


def resolve_cached(declared: ProjectRequirements) -> Resolution:
    """Return which versions a project gets, as `resolve` does; what was resolved before is not worked out again.

    Two declarations are the same if they ask for the same, wherever that is written.
    """
    where = {_anywhere(each): each for each in reversed(declared.requirements)}
    found = _resolved(
        replace(declared, path="", requirements=tuple(map(_anywhere, declared.requirements)), problems=())
    )
    return replace(found, declared={name: where.get(each, each) for name, each in found.declared.items()})


def _anywhere(each: Requirement) -> Requirement:
    return replace(each, place=NOWHERE)


_resolved = lru_cache(maxsize=REMEMBERED)(resolve)
