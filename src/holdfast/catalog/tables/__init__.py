"""The tables of this catalog that people write: one TOML file each, which a module of the catalog gives a shape."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return the values of a table, which is read once.

    >>> sorted(load_table("stack")["trl"])
    ['because', 'version']
    """
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
