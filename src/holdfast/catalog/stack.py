"""The packages that a rendered script installs, in versions that were tried together."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """One package.

    Attributes:
        version: Exact.
        because: Why a script needs it.
    """

    version: str
    because: str


@cache
def load_stack() -> dict[str, Package]:
    """Return every package by its normalized name.

    >>> load_stack()["trl"].version
    '1.16.0'
    """
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: Package(**row) for name, row in rows.items()}
