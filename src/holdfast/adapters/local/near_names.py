"""What somebody may have meant by a path where nothing is."""

import os
from itertools import islice
from pathlib import Path
from typing import Final

from holdfast.core.text.nearest import nearest

MOST_NAMES: Final = 10_000
"""Names of a folder that are looked at."""


def did_you_mean(path: Path, name: str) -> str:
    """Return the end of a message about a path where nothing is: a question that names what is there, or nothing.

    Args:
        path: The path.
        name: The same, as a job spells it.
    """
    near = nearest(path.name, _names_in(path.parent))
    return f"; did you mean `{Path(name).with_name(near)}`?" if near else ""


def _names_in(folder: Path) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(each.name for each in islice(entries, MOST_NAMES) if not each.name.startswith(".")))
    except (OSError, ValueError):  # it is not there, or not a path
        return ()
