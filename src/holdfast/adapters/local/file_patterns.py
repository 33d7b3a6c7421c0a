"""File names with wildcards, as `glob` reads them."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded, is_there

WILD: Final = frozenset("*?[")
"""What is in a pattern of files."""


def found_in(folder: Path, pattern: str) -> list[Path]:
    """Return the files that fit a pattern, sorted."""
    path = expanded(pattern)
    start = Path(path.anchor) if path.is_absolute() else folder
    return sorted(each for each in start.glob(str(path.relative_to(path.anchor))) if each.is_file())


def entries_in(folder: Path, name: str) -> list[Path]:
    """Return the file or folder of a name, or all that fit a pattern; nothing for a text that is neither. An absolute pattern fits nothing."""
    found = list[Path]()
    if WILD.intersection(name) and not Path(name).is_absolute():
        with suppress(ValueError, NotImplementedError, OSError):  # a text with such a sign, and no pattern
            found = [*folder.glob(name)]
    return found or ([folder / name] if is_there(folder / name) else [])
