"""The result of `catalog update`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from holdfast.results import Result


class CatalogResult(Result, frozen=True, kw_only=True):
    """The releases that were added to the catalog.

    Attributes:
        folder: The catalog's folder.
        added: The releases that were added, by package.
        releases: How many releases the catalog has, by package.
    """

    verb: Literal["catalog"]
    folder: str
    added: Mapping[str, Sequence[str]]
    releases: Mapping[str, int]
