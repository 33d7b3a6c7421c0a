"""The images of a dataset's rows, for a vision-language model: files by their paths, or bytes that the rows hold."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.rows.images import PIXELS, encoded_image, has_pillow, images_folder, listed_images, read_image
from holdfast.catalog.formats.words import IMAGES
from holdfast.core.evaluation import Example, ImageSource
from holdfast.engine.evaluate.reading import FIRST, ReadRows


def with_images(read: ReadRows, dataset: str) -> ReadRows:
    """Return examples with their images; a row whose image is not there cannot be evaluated.

    Args:
        read: The examples.
        dataset: The name of the dataset, in whose folder paths start.
    """
    folder = images_folder(dataset)
    examples, unfit, because = list[Example](), list(read.first), read.because
    for example in read.examples:
        try:
            examples.append(replace(example, images=tuple(_sources(example.columns, folder))))
        except (OSError, ValueError) as error:
            unfit.append(example.row)
            because = because or str(error)
    lost = len(read.examples) - len(examples)
    return ReadRows(
        examples=tuple(examples), unfit=read.unfit + lost, first=tuple(sorted(unfit)[:FIRST]), because=because
    )


def _sources(row: Mapping[str, Any], folder: Path) -> Iterator[ImageSource]:
    """Yield the images of a row."""
    for name in IMAGES:
        for each in listed_images(row.get(name)):
            yield _source(each, name, folder)


def _source(image: Any, name: str, folder: Path) -> ImageSource:
    """Return one image.

    Raises:
        ValueError: It is none, an address, or its file is not there.
        OSError: Its file cannot be read.
    """
    try:
        source = encoded_image(image, folder)
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from error
    content = source if isinstance(source, bytes) else read_foreign(source)
    _require_modest(content, "" if isinstance(source, bytes) else f": {source}")
    if isinstance(source, bytes):
        return ImageSource(base64=base64.b64encode(content).decode())
    return ImageSource(path=str(source), digest=hashlib.sha256(content).hexdigest())


def _require_modest(content: bytes, named: str) -> None:
    """Raise ValueError of an image that would fill the memory; without Pillow, the process of the model says what to install."""
    if not has_pillow():
        return
    facts = read_image(content, Path(), whole=False)
    if facts.width * facts.height > PIXELS:
        raise ValueError(f"an image of {facts.width:,} x {facts.height:,} pixels, more than {PIXELS:,}{named}")
