"""What somebody may have meant by a name that does not exist."""

from difflib import get_close_matches
from functools import lru_cache
from typing import Final

NEAR: Final = 0.6
"""How alike two names are at least: difflib's own cutoff."""


@lru_cache(maxsize=1024)
def nearest(name: str, known: tuple[str, ...] | frozenset[str], *, cutoff: float = NEAR) -> str | None:
    """Return the known name that is most like another, or None where none is near. Many files have the same mistakes.

    >>> nearest("max_lenght", ("max_length", "max_steps"))
    'max_length'
    """
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)
