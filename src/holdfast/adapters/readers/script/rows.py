"""What stands between commas, by LibCST: arguments, keys of a dict, imported names. Comments and layout of the others stay."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import libcst

Item = TypeVar("Item")
Gap = libcst.BaseParenthesizableWhitespace

NOTHING = libcst.SimpleWhitespace("")
SPACE = libcst.SimpleWhitespace(" ")
LINE = libcst.TrailingWhitespace(whitespace=NOTHING)


@dataclass(frozen=True, slots=True)
class ItemRow(Generic[Item]):
    """Items, apart from what stands between them.

    Attributes:
        items: The items.
        gaps: What stands before the first, and after each: spaces, or line breaks with comments.
        trailing: Whether a comma stands after the last.
    """

    items: tuple[Item, ...]
    gaps: tuple[Gap, ...]
    trailing: bool

    @classmethod
    def of(cls, items: Iterable[Any], first: Gap, last: Callable[[Any], Gap]) -> "ItemRow[Any]":
        """Take items apart.

        Args:
            items: The items, each with its comma.
            first: What stands before the first.
            last: Gives what stands after one, if it is not in its comma: behind the last that may be the bracket's.
        """
        found = tuple(items)
        gaps = ((_in_comma(each) or last(each)) if each is found[-1] else each.comma.whitespace_after for each in found)
        return cls(items=found, gaps=(first, *gaps), trailing=bool(found) and _has_comma(found[-1]))

    def with_item(self, at: int, item: Item) -> "ItemRow[Item]":
        """Return the row with another item in a place."""
        return replace(self, items=(*self.items[:at], item, *self.items[at + 1 :]))

    def insert(self, at: int, item: Item) -> "ItemRow[Item]":
        """Return the row with a new item before the one in a place, laid out like its neighbours."""
        gaps = (*self.gaps[:at], *self._split(at), *self.gaps[at + 1 :])
        return replace(self, items=(*self.items[:at], item, *self.items[at:]), gaps=gaps)

    def drop(self, at: int, *, remarks: bool = False) -> "ItemRow[Item]":
        """Return the row without an item and the comment on its line.

        Args:
            at: The item's place.
            remarks: Whether comments on lines of their own above it stay; else they go with it.
        """
        before, after = self.gaps[at : at + 2]
        keeps = at == 0 and not isinstance(before, libcst.ParenthesizedWhitespace) and not _remarked(after)
        left = before if keeps else _joined(before, after, last=at == len(self.items) - 1, remarks=remarks)
        items = (*self.items[:at], *self.items[at + 1 :])
        return replace(self, items=items, gaps=(*self.gaps[:at], left, *self.gaps[at + 2 :]))

    def spaced(self) -> Iterable[tuple[Item, Gap, bool]]:
        """Yield each item with what stands after it, and whether a comma stands between."""
        final = len(self.items) - 1
        for index, (item, gap) in enumerate(zip(self.items, self.gaps[1:], strict=True)):
            yield item, gap, index < final or self.trailing

    def _split(self, at: int) -> tuple[Gap, Gap]:
        """Return the gaps before and after a new item, in place of the gap where it is inserted."""
        old = self.gaps[at]
        if not at and self.items:
            tall = isinstance(old, libcst.ParenthesizedWhitespace)
            return (old, old.with_changes(first_line=LINE, empty_lines=[]) if tall else SPACE)
        broken = [gap for gap in self.gaps[:at] if isinstance(gap, libcst.ParenthesizedWhitespace)]
        if not broken:
            return (SPACE if at else NOTHING, old)
        above = broken[-1].with_changes(empty_lines=[])
        if not isinstance(old, libcst.ParenthesizedWhitespace):
            return (above.with_changes(first_line=LINE), old)
        return (above.with_changes(first_line=old.first_line), old.with_changes(first_line=LINE))


def comma(gap: Gap) -> libcst.Comma:
    """Return a comma with what stands after it."""
    return libcst.Comma(whitespace_after=gap)


def newline_of(source: str) -> str:
    r"""Return the line ending of a text.

    >>> newline_of("a\r\nb"), newline_of("a")
    ('\r\n', '\n')
    """
    return "\r\n" if "\r\n" in source else "\r" if "\r" in source and "\n" not in source else "\n"


def written(node: libcst.CSTNode, source: str) -> str:
    """Return a node as text, with its lines ended as those of the text that it comes from."""
    return libcst.Module([], default_newline=newline_of(source)).code_for_node(node)


def _in_comma(item: Any) -> Gap | None:
    """Return the gap that a comma leaves after an item; None if it leaves none."""
    gap = item.comma.whitespace_after if _has_comma(item) else None
    return None if isinstance(gap, libcst.SimpleWhitespace) and not gap.value else gap


def _has_comma(item: Any) -> bool:
    return isinstance(item.comma, libcst.Comma)


def _joined(first: Gap, second: Gap, *, last: bool, remarks: bool) -> Gap:
    """Return the gap between two items when the one between them is removed."""
    if not isinstance(first, libcst.ParenthesizedWhitespace):
        return second
    kept = [line for line in first.empty_lines if line.comment is not None and remarks]
    if isinstance(second, libcst.ParenthesizedWhitespace):
        return second.with_changes(first_line=first.first_line, empty_lines=[*kept, *second.empty_lines])
    return second if last and not kept and not _remarked(first) else first


def _remarked(gap: Gap) -> bool:
    """True if a comment stands at the end of the line."""
    return isinstance(gap, libcst.ParenthesizedWhitespace) and gap.first_line.comment is not None
