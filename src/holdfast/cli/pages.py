"""Pages that a command writes beside its answer."""

from pathlib import Path

from holdfast.adapters.foreign_files import is_file, is_folder, is_there, real_path
from holdfast.app.arguments import as_path
from holdfast.core.errors import UsageError


def require_page(path: str) -> None:
    """Raise UsageError if a page cannot be written: before the work that it shows."""
    try:
        page = real_path(Path(as_path(path)))  # a link stays, whatever it leads to
        was_there = is_there(page)
        if was_there and not is_file(page) and not is_folder(page):
            return  # a pipe would end with the look at it
        page.open("ab").close()
        if not was_there:
            page.unlink()
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def write_page(path: str, text: str) -> None:
    """Write a page into a file.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: OSError | ValueError) -> UsageError:
    why = error.strerror if isinstance(error, OSError) else "no file can have this name"
    return UsageError(
        f"the page cannot be written: {why}", where=path, fix="name a file in a folder that you may write to"
    )
