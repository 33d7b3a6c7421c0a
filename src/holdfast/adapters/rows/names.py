"""Which builder reads a data file, by its name, and what is said of one that nobody can read."""

from pathlib import Path

from holdfast.catalog.data.files import READ, ending_of
from holdfast.core.errors import SourceError, Spot


class BadDataError(SourceError):
    """Data that is there and can surely not be read: the job would fail on it."""

    def __init__(self, what: str, path: Path, line: int | None = None) -> None:
        super().__init__(what, where=Spot(str(path), line), fix="fix the file, or name another")


class BadPartError(BadDataError):
    """A split or a configuration that the data surely does not have."""

    def __init__(self, what: str, path: Path, part: str) -> None:
        super().__init__(what, path)
        self.part = part


def kind_of(path: Path) -> str:
    """Return which builder of `datasets` reads a file, as `READ` has it.

    Raises:
        BadDataError: None does that holdfast knows.
    """
    if (kind := READ.get(ending_of(path))) is None:
        raise BadDataError(f"{path} is of no known kind: use {', '.join(sorted(READ))}", path)
    return kind
