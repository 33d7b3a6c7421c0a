"""Reading and writing the files of the API history."""

import os
from pathlib import Path

from holdfast.catalog.api.folders import cache_folder
from holdfast.core.errors import UsageError


def writable_folder(builtin: Path) -> Path:
    """Return the folder that an update is written to."""
    return builtin if os.access(builtin, os.W_OK) else cache_folder()


def load_texts(folder: Path, suffix: str = ".history") -> dict[str, str]:
    """Return the text of every history in a folder, by package; of messages, with their suffix."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob(f"*{suffix}"))}


def save_text(folder: Path, package: str, text: str, suffix: str = ".history") -> Path:
    """Write a history, whole or not at all; return its path.

    Raises:
        UsageError: The folder cannot be written.
    """
    path = folder / f"{package}{suffix}"
    unfinished = path.with_suffix(".unfinished")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as error:
        fix = "give another folder with --to"
        raise UsageError(f"cannot write: {error.strerror}", where=str(path), fix=fix) from error
    return path
