"""The texts that a program is written in, each with its syntax tree: a script's one, or the cells of a notebook."""

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.adapters.readers.notebook_edits import source_lines
from holdfast.adapters.readers.script.notebook_cells import clean_cell, indent_of
from holdfast.adapters.readers.script.source import parse
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import is_notebook, read_cells
from holdfast.core.last_call_cache import cache_last_call
from holdfast.core.text.places import LINE_BREAK, LineIndex, Place, TextEdit

SourceNode = ast.stmt | ast.expr | ast.alias | ast.keyword | ast.arg


@dataclass(slots=True, eq=False, repr=False)
class SourcePart:
    """One text.

    Attributes:
        text: The text, as it is written.
        cell: Of a notebook, counted from 1.
        tree: What it says; of a cell, what Python makes of it.
        indent: Columns that were taken from each line before it was parsed.
    """

    text: str
    cell: int | None
    tree: ast.Module
    indent: int = 0
    lines: LineIndex = field(init=False)

    def __post_init__(self) -> None:
        self.lines = LineIndex(self.text)

    def span(self, node: SourceNode) -> tuple[int, int]:
        """Return the offsets at which a node begins and ends."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end)

    def source(self, node: SourceNode) -> str:
        """Return a node as it is written."""
        start, end = self.span(node)
        return self.text[start:end]

    def edit(self, start: int, end: int, text: str) -> TextEdit:
        """Return the replacement of the characters from one offset up to another."""
        return TextEdit(self.lines.position(start), self.lines.position(end), text, self.cell)

    def line_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets of the lines that hold some characters, without the end of the last."""
        first = self.lines.starts[bisect_right(self.lines.starts, start) - 1]
        broken = LINE_BREAK.search(self.text, end)
        return first, broken.start() if broken else len(self.text)

    def position(self, node: SourceNode) -> tuple[int | None, tuple[int, int]]:
        """Return where a node begins: the cell, the line and the column."""
        return self.cell, self.lines.position(self.span(node)[0])

    def is_at(self, node: SourceNode | None, place: Place) -> bool:
        """True if a node begins at a place."""
        return node is not None and self.position(node) == (place.cell, (place.line, place.column))

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a line and a column as `ast` counts it: in bytes, from 0."""
        start = self.lines.starts[line - 1]
        end = self.lines.starts[line] if line < len(self.lines.starts) else len(self.text)
        start += self.indent
        written = self.text[start:end]
        return start + (column if written.isascii() else len(written.encode()[:column].decode(errors="replace")))


def read_parts(document: Document) -> tuple[SourcePart, ...]:
    """Return the texts of a program, but those cells that are no Python."""
    return _parts(document.text, document.path)


@cache_last_call
def _parts(source: str, path: str) -> Iterator[SourcePart]:
    """Yield the texts of a program; its documents have the same."""
    if not is_notebook(path):
        yield SourcePart(source, None, parse(source, path)[0])
        return
    for cell in read_cells(source):
        text = "".join(line.text for line in source_lines(source, cell))
        try:
            yield SourcePart(text, cell, parse(clean_cell(text), path)[0], len(indent_of(text)))
        except UsageError:
            continue


def least(old: str, new: str) -> tuple[int, int, str]:
    """Return the smallest replacement that turns a text into another: from one offset up to another, by what.

    >>> least("f(a, b)", "f(a, c)")
    (5, 6, 'c')
    """
    shortest = min(len(old), len(new))
    start = next((index for index in range(shortest) if old[index] != new[index]), shortest)
    same = next((index for index in range(shortest - start) if old[-1 - index] != new[-1 - index]), shortest - start)
    return start, len(old) - same, new[start : len(new) - same]


def start_of(place: Place) -> tuple[int, int]:
    """Return the line and column where a place begins."""
    return place.line or 1, place.column or 1


def end_of(place: Place) -> tuple[int, int]:
    """Return the line and column where a place ends."""
    return place.end_line or 1, place.end_column or 1


def source_of(document: Document, cell: int | None) -> str:
    """Return a document's text, or that of one cell of a notebook."""
    return document.text if cell is None else "".join(line.text for line in source_lines(document.text, cell))


def source_at(document: Document, place: Place) -> str:
    """Return the text that stands at a place of a document, or of one cell of a notebook."""
    text = source_of(document, place.cell)
    lines = LineIndex(text)
    return text[lines.offset(start_of(place)) : lines.offset(end_of(place))]
