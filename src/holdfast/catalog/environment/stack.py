"""The packages that a rendered script installs, in versions that were tried together."""

from dataclasses import dataclass
from functools import cache

from holdfast.catalog.tables import load_table


@dataclass(frozen=True, slots=True)
class PinnedPackage:
    """One package.

    Attributes:
        version: Exact.
        because: Why a script needs it.
    """

    version: str
    because: str


@cache
def load_stack() -> dict[str, PinnedPackage]:
    """Return every package by its normalized name.

    >>> load_stack()["trl"].version
    '1.16.0'
    """
    rows = load_table("stack")
    return {name: PinnedPackage(**row) for name, row in rows.items()}
