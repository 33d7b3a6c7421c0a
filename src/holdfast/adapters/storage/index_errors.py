"""Errors of SQLite: which of them are damage of the index, and the way out of the others."""

import sqlite3
from typing import Final

DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
)
"""The last two: its rows are numbered as the journals are, under a lock; only a damaged one has a number twice."""
DAMAGE_WORDS: Final = ("no such table", "no such column", "malformed JSON", "Could not decode to UTF-8")
"""Of damage that has no code of its own."""
NO_SPACE: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class DamagedIndexError(sqlite3.DatabaseError):
    """The index has a value that holdfast never writes."""


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """True if the index itself is damaged, and can be made anew."""
    if isinstance(error, DamagedIndexError) or _code(error) in DAMAGE:
        return True
    return any(words in str(error) for words in DAMAGE_WORDS)


def fix_of(error: sqlite3.DatabaseError) -> str:
    """Return the way out of an error that is no damage."""
    if _code(error) in NO_SPACE:
        return "free some disk space, or choose another folder with --runs"
    if _code(error) in LOCKED:
        return "another process holds it; try again"
    return "check the folder's permissions, or choose another with --runs"


def _code(error: sqlite3.DatabaseError) -> int:
    """Return SQLite's primary code of an error; 0 if Python itself raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
