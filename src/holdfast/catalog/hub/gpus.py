"""GPUs by the short names that flavors use: their memory and what they can compute in."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from holdfast.catalog.tables import load_table
from holdfast.core.facts import Gpu

GB: Final = 10**9


@cache
def load_gpus() -> Mapping[str, Gpu]:
    """Return every GPU by its short name.

    >>> load_gpus()["t4"].capability, load_gpus()["t4"].bf16
    ((7, 5), False)
    """
    rows = load_table("gpus")
    return {
        name: Gpu(name=row["name"], memory_bytes=row["memory_gb"] * GB, capability=(*row["capability"],))
        for name, row in rows.items()
    }
