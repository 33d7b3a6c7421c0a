"""The file or folder that was meant by a path where nothing is."""

from collections.abc import Callable
from pathlib import Path

from holdfast.core.nearest import nearest


def suggest_path(path: Path, otherwise: str, is_wanted: Callable[[Path], bool] = lambda _: True) -> str:
    """Return the advice for a path where nothing is: the entry of the same folder with the most similar name.

    Args:
        path: The path.
        otherwise: The advice if no name is similar.
        is_wanted: True for the entries that can have been meant.
    """
    folder = path.parent
    names = tuple(each.name for each in folder.iterdir() if is_wanted(each)) if folder.is_dir() else ()
    near = nearest(path.name, names)
    return f"there is {folder / near}" if near else otherwise
