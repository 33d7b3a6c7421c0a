"""Data files: what the endings of their names say of them.

Source: `datasets.packaged_modules._EXTENSION_TO_MODULE`, 5.2; tried by `tests/adapters/rows/test_rows_splits.py` and `tests/rules/test_datasets.py`.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

READ: Final[Mapping[str, str]] = {
    ".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".geoparquet": "parquet", ".gpq": "parquet", ".arrow": "arrow", ".txt": "text",
}  # fmt: skip
"""Which builder reads what; `tsv` stands for that of CSV with tabs."""
COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zst")
"""What may follow that."""


def ending_of(name: str | PurePath) -> str:
    """Return a file's ending without that of its compression.

    >>> ending_of("rows/data.jsonl.gz"), ending_of("rows")
    ('.jsonl', '')
    """
    path = PurePath(name)
    return PurePath(path.stem if path.suffix.lower() in COMPRESSED else path).suffix.lower()
