"""Reading images: their format and size, and whether they are whole.

Covered: files, bytes, and the pairs of both that `datasets` stores; whatever Pillow reads. Not covered: addresses, which are
never fetched.
"""

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import expanded, is_folder, is_there, read_foreign
from holdfast.core.outcome import Raised, outcome_of

ADDRESSES: Final = ("http://", "https://")
DECODED_FORMATS: Final = frozenset({"PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP"})
"""The formats that are decoded. For others, such as EPS, Pillow may start a program; of them, only the header is read."""
PIXELS: Final = 89_478_485
"""The largest image that a model gets: the `MAX_IMAGE_PIXELS` of Pillow, a quarter of a gigabyte in RGB."""
DECODED_PIXELS: Final = 25_000_000
"""The largest image that is decoded: a file of 46 bytes may be an image of gigabytes."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image.

    Attributes:
        format: As Pillow names it: `PNG`.
        width: In pixels.
        height: In pixels.
    """

    format: str
    width: int
    height: int


def images_folder(dataset: str) -> Path:
    """Return the folder that paths of images start in: that of a data file, else the dataset's own, as in a job's script."""
    named = expanded(dataset)
    return named.parent if is_there(named) and not is_folder(named) else named


def listed_images(value: Any) -> list[Any]:
    """Return the images that a value of a column is or holds."""
    return [each for each in (value if isinstance(value, list) else [value]) if each is not None]


def has_pillow() -> bool:
    """True if images can be read."""
    return find_spec("PIL") is not None


def encoded_image(image: Any, folder: Path) -> Path | bytes:
    """Return the file or the bytes of an image that a row holds.

    Args:
        image: A path, bytes, or a mapping with `path` and `bytes`.
        folder: Where paths start.

    Raises:
        ValueError: It is no image, an address, or its file is not there.
    """
    content = image.get("bytes") if isinstance(image, Mapping) else image
    if isinstance(content, bytes):
        return content
    path = image.get("path") if isinstance(image, Mapping) else image
    if not isinstance(path, str):
        raise ValueError(f"it is {type(image).__name__}, and no image")  # noqa: TRY004 - the row is at fault
    if path.startswith(ADDRESSES):
        raise ValueError(f"it is an address, and images are not fetched: {path}")
    if not is_there(folder / path):
        raise ValueError(f"no such file: {path}")
    return (folder / path).absolute()


def read_image(image: Any, folder: Path, *, whole: bool) -> ImageFacts:
    """Return an image's format and size.

    Args:
        image: As `encoded_image` takes it.
        folder: Where paths start.
        whole: Whether to decode all of it, which finds files that are cut off: of a common format, up to 25 million pixels.

    Raises:
        ValueError: It cannot be read.
    """
    pillow = import_module("PIL.Image")
    source = encoded_image(image, folder)
    facts = outcome_of(lambda: _facts_of(source, pillow, whole=whole))
    match facts:
        case Raised(error=pillow.UnidentifiedImageError() as error):
            raise ValueError(f"no image that Pillow reads{_named(source)}") from error
        case Raised(error=error):  # of damaged files, Pillow's readers raise almost anything
            raise ValueError(f"{str(error) or type(error).__name__}{_named(source)}") from error
        case _:
            return facts


def _facts_of(source: Path | bytes, pillow: Any, *, whole: bool) -> ImageFacts:
    content = read_foreign(source) if isinstance(source, Path) else source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pillow.DecompressionBombWarning)  # a large image is not decoded
        opened = pillow.open(io.BytesIO(content))
    with opened:
        if whole and opened.format in DECODED_FORMATS and opened.width * opened.height <= DECODED_PIXELS:
            opened.load()
        return ImageFacts(opened.format or "unknown", *opened.size)


def _named(source: Path | bytes) -> str:
    return f": {source}" if isinstance(source, Path) else ""
