"""Where the histories lie: with holdfast, or, where an update could not be written there, in the user's cache."""

import os
import re
from pathlib import Path
from typing import Final

MADE: Final = re.compile(r'"made": ?"([\d-]*)"')
FIRST_BYTES: Final = 400
"""Enough of a file's first line to hold its date."""
BUILTIN: Final = Path(__file__).parent


def cache_folder() -> Path:
    """Return the folder of the user's cache that an update is written to where holdfast's own may not be."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast" / "api"


def newest_folder(builtin: Path = BUILTIN) -> Path:
    """Return the folder of the newer histories: the user's, or those that came with holdfast."""
    cached = cache_folder()
    return cached if cached.is_dir() and date_of(cached) > date_of(builtin) else builtin


def date_of(folder: Path) -> str:
    """Return the latest date of a folder's histories, as `YYYY-MM-DD`; empty if it has none."""
    dates = [""]
    for path in folder.glob("*.history"):
        with path.open(encoding="utf-8") as file:
            found = MADE.search(file.read(FIRST_BYTES))
        dates.append(found[1] if found else "")
    return max(dates)


FOLDER: Final = newest_folder()
"""The histories that are read where no other folder is named."""
