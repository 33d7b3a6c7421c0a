"""Where the API history lies: with holdfast, or, where that may not be written, in the user's cache."""

import os
import re
from pathlib import Path
from typing import Final

from holdfast.core.errors import UsageError

MADE: Final = re.compile(r'"made":"([\d-]*)"')
FIRST_BYTES: Final = 400
"""Enough of a file's first line to hold its date."""


def cache_folder() -> Path:
    """Return the folder of the user's cache that holds histories newer than those that came with holdfast."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast" / "api"


def newest_folder(builtin: Path) -> Path:
    """Return the folder of the newer histories: the user's, or those that came with holdfast."""
    cached = cache_folder()
    return cached if _made(cached) > _made(builtin) else builtin


def writable_folder(builtin: Path) -> Path:
    """Return the folder that an update is written to."""
    return builtin if os.access(builtin, os.W_OK) else cache_folder()


def load_texts(folder: Path) -> dict[str, str]:
    """Return the text of every history in a folder, by package."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.history"))}


def save_text(folder: Path, package: str, text: str) -> Path:
    """Write a history, whole or not at all; return its path.

    Raises:
        UsageError: The folder cannot be written.
    """
    path = folder / f"{package}.history"
    unfinished = path.with_suffix(".unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as error:
        fix = "give another folder with --to"
        raise UsageError(f"cannot write: {error.strerror}", where=str(path), fix=fix) from error
    return path


def _made(folder: Path) -> str:
    """Return the latest date of a folder's histories; empty where it has none."""
    dates = [""]
    for path in folder.glob("*.history"):
        with path.open(encoding="utf-8") as file:
            found = MADE.search(file.read(FIRST_BYTES))
        dates.append(found.group(1) if found else "")
    return max(dates)
