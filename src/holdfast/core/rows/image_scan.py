"""What reading the images of a dataset showed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.core.rows.scan import DamagedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageScan:
    """The images of all rows.

    Attributes:
        images: How many could be read.
        formats: How many there are of each format, such as `PNG`.
        widths: The least and the greatest width, in pixels.
        heights: The least and the greatest height, in pixels.
        tokens: The least and the greatest number of tokens that the images of a row become; None if it is not known.
        unread: Why no image was read; empty if they were.
        uncounted: Why the tokens are not known; empty if they are, or no model is named.
        marked: Rows with damaged images.
    """

    images: int = 0
    formats: Mapping[str, int] = field(default_factory=dict[str, int])
    widths: tuple[int, int] = (0, 0)
    heights: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] | None = None
    unread: str = ""
    uncounted: str = ""
    marked: tuple[DamagedRows, ...] = ()
