"""The folder of an export: it appears whole, or not at all."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import SourceError, UsageError


def refuse_taken(out: Path) -> None:
    """Look whether the folder can be made.

    Raises:
        UsageError: There is something already, or something stands in its way.
    """
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"the folder {out} is not empty", where="--out", fix="choose another with --out, or remove it")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file", where="--out", fix="choose another with --out")


@contextmanager
def draft_of(out: Path) -> Iterator[Path]:
    """Give a folder beside the one that is made; what is left in it is removed.

    Raises:
        UsageError: It cannot be made.
    """
    with ExitStack() as stack:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            name = stack.enter_context(scratch_folder(".export-", out.parent))
        except OSError as error:
            what = f"the folder for the export cannot be made: {error.strerror}"
            raise UsageError(what, where=str(out.parent), fix="choose another with --out") from error
        yield Path(name)


def deliver(draft: Path, out: Path) -> None:
    """Let the folder appear.

    Raises:
        SourceError: Another process was sooner.
    """
    try:
        draft.rename(out)
    except OSError as error:
        what = f"the folder {out} cannot take its name: {error.strerror}"
        raise SourceError(what, where=str(out), fix="choose another with --out") from error


def bytes_of(folder: Path, pattern: str) -> int:
    """Return the size of the files of a folder that have names like this."""
    return sum(each.stat().st_size for each in folder.glob(pattern))
