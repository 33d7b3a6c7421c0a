"""Data that is small enough to be read whole by a check."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded
from holdfast.adapters.local.datasets import unreadable_data
from holdfast.app.inspect.images import scan_images, with_images
from holdfast.app.inspect.rows import SAMPLES, RowSource
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.rows.scan import Scan

LARGEST_BYTES: Final = 8 << 20
"""Data up to this size is read whole by a check: in well under a second."""


def scan_small(document: Document, files: Mapping[str, Path] | None = None) -> Scan:
    """Return a scan of every row of a job's data, and of the images of the first rows, if it is small and local.

    Args:
        document: The request.
        files: The file of each split; of a file or folder that the job names itself, None.

    Raises:
        SourceError: It is large, or it cannot be read, which other rules report.
    """
    source = RowSource(document, offline=True, files=files)
    try:
        _require_small(source, _paths(expanded(source.path), files))
    except OSError as error:
        raise unreadable_data(error, source.path) from error
    sight = source.look()
    named = document.get("method", None)
    scan = source.scan(sight, Method(named) if isinstance(named, str) else None)
    # Where the paths of a script's images start, only the script knows.
    return scan if files else with_images(scan, scan_images(source, sight, SAMPLES))


def _paths(path: Path, files: Mapping[str, Path] | None) -> Iterable[Path]:
    if files:
        return files.values()
    return [path] if path.is_file() else path.rglob("*")


def _require_small(source: RowSource, paths: Iterable[Path]) -> None:
    """Raise SourceError if files are together larger than what a check reads."""
    size = 0
    for each in paths:
        size += each.stat().st_size if each.is_file() else 0
        if size > LARGEST_BYTES:
            what = f"{source.path} has more than {LARGEST_BYTES >> 20} MB, which is more than a check reads"
            raise SourceError(what, where=source.path, fix="`holdfast inspect` reads every row")
