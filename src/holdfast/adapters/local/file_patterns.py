"""File names with wildcards, as `glob` reads them."""

from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded

WILD: Final = frozenset("*?[")
"""What is in a pattern of files."""


def found_in(folder: Path, pattern: str) -> list[Path]:
    """Return the files that fit a pattern, sorted."""
    path = expanded(pattern)
    start = Path(path.anchor) if path.is_absolute() else folder
    return sorted(each for each in start.glob(str(path.relative_to(path.anchor))) if each.is_file())
