"""Where the parts of a source stand, in characters from 1; `ast` counts bytes from 0."""

import ast
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.core.errors import Spot
from holdfast.core.text.places import LINE_BREAK, Place


@dataclass(slots=True, eq=False, repr=False)
class Cell:
    """A notebook's cell in the program that its cells make together.

    Attributes:
        number: Counted from 1, over all the notebook's cells.
        first: The program's line with which it begins.
        indent: Columns by which all of its lines are indented, and which IPython takes away.
    """

    number: int
    first: int
    indent: int = 0


@dataclass(slots=True, eq=False, repr=False)
class PlaceFinder:
    """Turns nodes into places.

    Attributes:
        path: Name of the source.
        text: What was parsed.
        cells: Of a notebook, in order.
    """

    path: str
    text: str
    cells: Sequence[Cell] = ()
    lines: Sequence[str] | None = field(init=False)

    def __post_init__(self) -> None:
        wide = None if self.text.isascii() else LINE_BREAK.split(self.text)
        object.__setattr__(self, "lines", wide)

    def of(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> Place:
        """Return where a node stands."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.between(node.lineno, node.col_offset, end_line, end)

    def between(self, line: int, start: int, end_line: int, end: int) -> Place:
        """Return a place; the columns are bytes, counted from 0."""
        if self.lines is None and not self.cells:  # by far the most
            return Place(self.path, line, start + 1, end_line, end + 1)
        columns = (self._column(line, start), self._column(end_line, end))
        cell, above, indent = self._cell(line)
        return Place(self.path, line - above, columns[0] + indent, end_line - above, columns[1] + indent, cell)

    def spot(self, line: int) -> Spot:
        """Return where a line stands for its reader."""
        cell, above, _ = self._cell(line)
        return Spot(self.path if cell is None else f"{self.path}, cell {cell}", line - above)

    def keyword(self, node: ast.keyword) -> Place:
        """Return where the name of a keyword argument stands."""
        end = node.col_offset + len((node.arg or "**").encode())
        return self.between(node.lineno, node.col_offset, node.lineno, end)

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Place:
        """Return where the name of a function stands that is defined."""
        start = node.col_offset + len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")
        return self.between(node.lineno, start, node.lineno, start + len(node.name.encode()))

    def last_name(self, node: ast.expr) -> Place:
        """Return where the last name of a dotted expression stands; of any other, the whole of it."""
        if not isinstance(node, ast.Attribute) or node.end_lineno is None or node.end_col_offset is None:
            return self.of(node)
        start = node.end_col_offset - len(node.attr.encode())
        return self.between(node.end_lineno, start, node.end_lineno, node.end_col_offset)

    def _column(self, line: int, offset: int) -> int:
        if self.lines is None or line > len(self.lines):
            return offset + 1
        written = self.lines[line - 1]
        if written.isascii():
            return offset + 1
        return len(written.encode()[:offset].decode(errors="replace")) + 1

    def _cell(self, line: int) -> tuple[int | None, int, int]:
        """Return a line's cell, the lines above that, and the columns that were taken from it."""
        if not self.cells:
            return None, 0, 0
        cell = self.cells[max(bisect_right(self.cells, line, key=lambda each: each.first) - 1, 0)]
        return cell.number, cell.first - 1, cell.indent
