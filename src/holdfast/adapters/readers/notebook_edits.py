"""Edits of a notebook's cells written into its JSON, where only the lines that change are touched.

Covered: notebooks of format 4 with a cell's source as a list of lines or as one text.
Not covered: format 3 (worksheets), which nothing has written since 2015.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from holdfast.core.text.places import TextEdit, apply_text_edits

LINE = re.compile(r"[^\n]*\n|[^\n]+")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class CellText:
    """A text of the JSON, and where it is written there, quotes included."""

    text: str
    start: int
    end: int


def apply_notebook_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return a notebook's JSON with the edits made in its cells.

    Args:
        text: The notebook.
        edits: Each names its cell, counted from 1.

    Raises:
        ValueError: Two of them overlap.
    """
    by_cell = sorted(edits, key=lambda edit: edit.cell or 0)
    changes = [
        change
        for cell, group in groupby(by_cell, key=lambda edit: edit.cell or 0)
        for change in _changes(text, source_lines(text, cell), list(group))
    ]
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def source_lines(text: str, cell: int) -> list[CellText]:
    """Return the texts that make a cell's source, each with where it is written; none if there is no such cell."""
    spans, cells = _numbered_cells(text)
    source = cells[cell - 1].get("source", []) if 0 < cell <= len(cells) else []
    return [CellText(each.text, *spans[each.number]) for each in (source if isinstance(source, list) else [source])]


@lru_cache(maxsize=1)  # a notebook's cells are edited one after the other
def _numbered_cells(text: str) -> tuple[Sequence[tuple[int, int]], Sequence[Any]]:
    """Return where each text of the JSON is written, and the cells, with each text numbered."""
    root = _numbered(text)
    cells = root.get("cells", []) if isinstance(root, dict) else []
    return [found.span() for found in STRING.finditer(text)], cells


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A text of the JSON with its number among all texts, keys among them."""

    text: str
    number: int


def _numbered(text: str) -> Any:
    """Return the JSON with each text numbered, in the order in which they are written."""
    counter = iter(range(len(text)))
    return _number(json.loads(text, object_pairs_hook=_Pairs), counter)


class _Pairs(list[tuple[str, Any]]):
    """An object of the JSON, as it is written."""


def _number(value: Any, counter: Iterator[int]) -> Any:
    if isinstance(value, _Pairs):
        return {key: _number(child, counter) for key, child in value if next(counter) >= 0}
    if isinstance(value, list):
        return [_number(child, counter) for child in value]
    return _Numbered(value, next(counter)) if isinstance(value, str) else value


def _changes(text: str, lines: Sequence[CellText], edits: Sequence[TextEdit]) -> Iterator[tuple[int, int, str]]:
    """Yield the replacements in the JSON: start offset, end offset and new text."""
    old = [line.text for line in lines]
    new = _edited(old, edits)
    if old == new or not lines:
        return
    same, tail = _unchanged(old, new)
    first, last = lines[same], lines[len(lines) - tail - 1]
    yield (
        first.start,
        last.end,
        _separator(text, lines).join(_spell(line, text) for line in new[same : len(new) - tail]) or '""',
    )


def _separator(text: str, lines: Sequence[CellText]) -> str:
    """Return what stands between two lines of a cell."""
    return text[lines[0].end : lines[1].start] if len(lines) > 1 else ", "


def _edited(old: Sequence[str], edits: Sequence[TextEdit]) -> list[str]:
    """Return a cell's lines with edits made; what was one text stays one."""
    source = apply_text_edits("".join(old), edits)
    return [source] if len(old) == 1 and "\n" in old[0][:-1] else LINE.findall(source)


def _unchanged(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines stay as they are at the beginning and at the end of a cell."""
    same = _alike(old, new)
    tail = _alike(old[same:][::-1], new[same:][::-1])
    if same + tail not in (len(old), len(new)):
        return same, tail
    # Lines only come, or only go: one that stays is written anew beside them.
    return (same - 1, tail) if same else (same, max(tail - 1, 0))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of leading items that two lists share."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _spell(line: str, text: str) -> str:
    """Return a text as JSON, with other letters as the notebook writes them: as they are, or escaped."""
    return json.dumps(line, ensure_ascii=text.isascii())
