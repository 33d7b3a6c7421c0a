"""Values that move from one argument to another, written there as they were: `2**10`, or a constant by its name."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from holdfast.adapters.readers.script.parts import Part, read_parts, source_at
from holdfast.adapters.readers.script.render import Source
from holdfast.core.document import Document, Edit, Remove, Set, parse_key
from holdfast.core.text import Place

SIMPLE: Final = (
    ast.Constant,
    ast.Name,
    ast.UnaryOp,
    ast.BinOp,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)
"""What means the same in another place, if its names do."""


def carry(document: Document, edits: Sequence[Edit], home: Place) -> list[Edit]:
    """Return the edits, where a value that another argument loses is given as it is written there.

    Args:
        document: The program.
        edits: The edits.
        home: The call that gets the value.
    """
    lost = [edit for edit in edits if isinstance(edit, Remove)]
    return [_as_written(document, edit, lost, home) if isinstance(edit, Set) else edit for edit in edits]


def _as_written(document: Document, edit: Set, lost: Iterable[Remove], home: Place) -> Set:
    for other in lost:
        place = document.places.get(parse_key(other.key))
        if place is None or place.path != document.path or document.get(other.key) != edit.value:
            continue
        source = source_at(document, place)
        if "\n" not in source and _means_the_same(document, source, home):
            return replace(edit, value=Source(source))
    return edit


def _means_the_same(document: Document, source: str, home: Place) -> bool:
    """Tell whether an expression can stand in a call: its names are constants of the program that come before it."""
    try:
        nodes = list(ast.walk(ast.parse(source, mode="eval").body))
    except SyntaxError:
        return False
    if not all(isinstance(node, SIMPLE) for node in nodes):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if not names:
        return True
    parts = read_parts(document)
    before = [name for part in parts for name in _constants(part, home)]
    bound = [name for part in parts for name in _bound(part)]
    return all(name in before and bound.count(name) == 1 for name in names)


def _constants(part: Part, home: Place) -> Iterator[str]:
    """Yield the names that a text gives values to before a place, outside of any function."""
    for statement in part.tree.body:
        _, end = part.span(statement)
        comes_before = (part.cell or 0, part.lines.position(end)) <= (
            home.cell or 0,
            (home.line or 1, home.column or 1),
        )
        if comes_before and isinstance(statement, ast.Assign):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _bound(part: Part) -> Iterator[str]:
    """Yield each name that is given a value anywhere, as often as it is."""
    for node in ast.walk(part.tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
