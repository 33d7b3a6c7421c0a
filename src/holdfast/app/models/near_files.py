"""The file or folder that was meant by a path where nothing is."""

from collections.abc import Callable
from pathlib import Path

from holdfast.core.text.nearest import nearest


def suggest_path(path: Path, otherwise: str, is_wanted: Callable[[Path], bool] = lambda _: True) -> str:
    """Return the advice for a path where nothing is: the entry of the same folder with the most similar name.

    Args:
        path: The path.
        otherwise: The advice if no name is similar.
        is_wanted: True for the entries that can have been meant.
    """
    near = nearest(path.name, _names(path.parent, is_wanted))
    return f"there is {path.parent / near}" if near else otherwise


def _names(folder: Path, is_wanted: Callable[[Path], bool]) -> tuple[str, ...]:
    """Return the names of a folder's entries that can have been meant; none if the folder cannot be read."""
    try:
        return tuple(each.name for each in folder.iterdir() if is_wanted(each))
    except (OSError, ValueError):  # no folder, one that may not be read, or a name that none can have
        return ()
