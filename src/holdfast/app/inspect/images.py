"""The images of a dataset that is inspected: formats, sizes, tokens, and those that are damaged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.rows.images import ImageFacts, has_pillow, images_folder, listed_images, read_image
from holdfast.adapters.tokens.image_tokens import count_image_tokens
from holdfast.app.inspect.rows import DataPreview, RowSource
from holdfast.catalog.formats.words import IMAGES
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document
from holdfast.core.rows.image_scan import ImageScan
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows, Scan
from holdfast.core.rows.unpacking import unpack_rows
from holdfast.engine.inspect.image_lengths import mark_cut_images

DECODED: Final = 1000
"""The first images, so many, are decoded whole; of the others only the headers are read."""


@dataclass(slots=True)
class _Tally:
    """What was found so far: the images of each row with their columns, and the damaged ones by column."""

    read: int = 0
    images: int = 0
    formats: Counter[str] = field(default_factory=Counter[str])
    rows: dict[int, list[tuple[str, ImageFacts]]] = field(default_factory=dict[int, list[tuple[str, ImageFacts]]])
    damaged: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    because: dict[str, str] = field(default_factory=dict[str, str])


def scan_images(
    source: RowSource, sight: DataPreview, limit: int, *, tokens_for: Document | None = None
) -> ImageScan | None:
    """Return what reading the images showed; None if no column holds any.

    Args:
        source: The rows.
        sight: What the first of them show.
        limit: The most rows whose images are read.
        tokens_for: The request whose model's tokens are counted; None to count none.
    """
    names = [name for name in IMAGES if name in sight.columns]
    if not names:
        return None
    if not has_pillow():
        return ImageScan(unread=f"Pillow is not installed: {install_command('vision')}")
    tally = _read(source, names, limit)
    scan = ImageScan(images=tally.images, formats=dict(tally.formats.most_common()), marked=_marked(tally))
    return _with_sizes(scan, tally, tokens_for, source) if tally.images and tokens_for else scan


def with_images(scan: Scan, images: ImageScan | None) -> Scan:
    """Return a scan of rows with what their images add to it."""
    if images is None:
        return scan
    return replace(scan, marked=(*scan.marked, *images.marked), unread_images=images.unread)


def _marked(tally: _Tally) -> tuple[DamagedRows, ...]:
    return tuple(
        DamagedRows("unreadable-image", name, len(rows), tuple(rows[:FIRST_ROWS]), tally.because[name])
        for name, rows in tally.damaged.items()
    )


def _read(source: RowSource, names: Sequence[str], limit: int) -> _Tally:
    tally, folder = _Tally(), images_folder(source.path)
    for number, row in _rows(source, limit):
        for name in names:
            for image in listed_images(row.get(name)):
                _add(tally, number, name, image, folder)
    return tally


def _add(tally: _Tally, number: int, name: str, image: Any, folder: Path) -> None:
    try:
        tally.read += 1
        facts = read_image(image, folder, whole=tally.read <= DECODED)
    except ValueError as error:
        rows = tally.damaged.setdefault(name, [])
        tally.because.setdefault(name, str(error))
        if number not in rows[-1:]:
            rows.append(number)
        return
    tally.images += 1
    tally.formats[facts.format] += 1
    tally.rows.setdefault(number, []).append((name, facts))


def _with_sizes(scan: ImageScan, tally: _Tally, document: Document, source: RowSource) -> ImageScan:
    facts = [each for found in tally.rows.values() for _, each in found]
    widths, heights = [each.width for each in facts], [each.height for each in facts]
    scan = replace(scan, widths=(min(widths), max(widths)), heights=(min(heights), max(heights)))
    model = document.get("model.path", None)
    if not isinstance(model, str):
        return scan
    sizes = sorted(set(zip(heights, widths, strict=True)))
    try:
        counts = dict(zip(sizes, count_image_tokens(model, sizes, offline=source.offline), strict=True))
    except SourceError as error:
        return replace(scan, uncounted=error.what)
    return _with_tokens(scan, tally, counts, document)


def _with_tokens(
    scan: ImageScan, tally: _Tally, counts: Mapping[tuple[int, int], int], document: Document
) -> ImageScan:
    """Return the scan with the tokens of each row's images, given those of each size."""
    tokens = {row: _by_column(found, counts) for row, found in tally.rows.items()}
    totals = [columns.total() for columns in tokens.values()]
    return replace(scan, tokens=(min(totals), max(totals)), marked=(*scan.marked, *mark_cut_images(tokens, document)))


def _by_column(found: Iterable[tuple[str, ImageFacts]], counts: Mapping[tuple[int, int], int]) -> Counter[str]:
    """Return the tokens of a row's images by their column."""
    tokens = Counter[str]()
    for name, each in found:
        tokens[name] += counts[each.height, each.width]
    return tokens


def _rows(source: RowSource, limit: int) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = source.open()
    for batch in rows.batches():
        for number, row in enumerate(unpack_rows(batch.frame.iter_rows(named=True), rows.columns), batch.start):
            if number >= limit:
                return
            yield number, row
