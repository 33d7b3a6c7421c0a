"""The state of one item of the checklists, as far as a document shows it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast.core.job.document import Document, parse_key
from holdfast.core.text.places import Place
from holdfast.results.check import ItemVerdict


@dataclass(frozen=True, slots=True)
class ItemState:
    """The state of an item, if no rule reports anything.

    Attributes:
        status: What it comes to.
        because: What makes it so.
        place: Where that stands, if it stands anywhere.
    """

    status: ItemVerdict
    because: str
    place: Place | None = None


passed = partial(ItemState, ItemVerdict.PASS)
failed = partial(ItemState, ItemVerdict.FAIL)
unknown = partial(ItemState, ItemVerdict.UNKNOWN)
not_applicable = partial(ItemState, ItemVerdict.NOT_APPLICABLE)


def place_of(job: Document, key: str) -> Place | None:
    """Return where a key is written, and nothing if only its parent is."""
    path = parse_key(key)
    return job.key_places.get(path) or job.places.get(path)


def trains_itself(job: Document) -> bool:
    """True if a document is about a training of its own."""
    return job.kind == "command" or isinstance(job.get("method"), str)


def is_list(value: Any) -> bool:
    """True for a list; the type of its items stays unknown."""
    return isinstance(value, list)
