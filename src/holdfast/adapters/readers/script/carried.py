"""Values that move from one argument to another, written there as they were: `2**10`, a name, `options.max_length`."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from holdfast.adapters.readers.script.parts import SourceNode, SourcePart, read_parts, source_at, start_of
from holdfast.core.document import Document, Set, ValueEdit, parse_key
from holdfast.core.source import SourceExpression
from holdfast.core.text import Place

SIMPLE: Final = (
    ast.Constant,
    ast.Name,
    ast.UnaryOp,
    ast.BinOp,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Attribute,
    ast.Subscript,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)
"""What means the same in another place, if its names do."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
At = tuple[int, tuple[int, int]]
"""A cell, 0 for a script, with a line and a column in it."""


def carry(document: Document, edits: Sequence[ValueEdit], home: Place) -> list[ValueEdit]:
    """Return the edits, where a value that moves is given as it is written where it comes from.

    Args:
        document: The program.
        edits: The edits.
        home: The call that gets the value.
    """
    return [_as_written(document, edit, home) if isinstance(edit, Set) and edit.of else edit for edit in edits]


def _as_written(document: Document, edit: Set, home: Place) -> Set:
    place = document.places.get(parse_key(edit.of))
    if place is None or place.path != document.path:
        return edit
    source = source_at(document, place)
    if "\n" in source or not _means_the_same(document, source, place, home):
        return edit
    return replace(edit, value=SourceExpression(source))


def _means_the_same(document: Document, source: str, place: Place, home: Place) -> bool:
    """True if an expression can stand in a call: each of its names is given one value, before it, that nothing changes."""
    try:
        nodes = list(ast.walk(ast.parse(source, mode="eval").body))
    except SyntaxError:
        return False
    if not all(isinstance(node, SIMPLE) for node in nodes):
        return False
    parts = list(read_parts(document))
    around = _function(parts, home)
    if around is not _function(parts, place):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    changes = (_position(part, node) for part in parts for node in _changed(part, names, attributes))
    return all(_is_settled(parts, around, name, home) for name in names) and all(at < _start(home) for at in changes)


def _is_settled(parts: Sequence[SourcePart], around: Function | None, name: str, home: Place) -> bool:
    """True if a name has one value in a scope, or in the program around it, and got it before a place."""
    if around is not None:
        part = next(part for part in parts if part.cell == home.cell)
        if bound := [_end(part, node) for node in _binding(around, name)]:
            return len(bound) == 1 and bound[0] <= _start(home)
    bound = [_end(part, node) for part in parts for node in _binding(part.tree, name)]
    return len(bound) == 1 and bound[0] <= _start(home)


def _function(parts: Sequence[SourcePart], place: Place) -> Function | None:
    """Return the innermost function around a place; None at the top."""
    found: Function | None = None
    for part in parts:
        for node in ast.walk(part.tree) if part.cell == place.cell else ():
            if isinstance(node, Function) and part.lines.position(part.span(node)[0]) <= _start(place)[1]:
                inside = _start(place)[1] < part.lines.position(part.span(node)[1])
                found = node if inside else found  # the walk comes to what is inside later
    return found


def _binding(root: ast.AST, name: str) -> Iterator[SourceNode]:
    """Yield each node that binds a name in a scope, an assignment as a whole, but not in functions and classes within it."""
    queue = list(ast.iter_child_nodes(root))
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield from (node for each in _targets(node) if each.id == name)
            queue += [node.value] if node.value else []
            continue
        if (
            (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
            or (isinstance(node, ast.arg | ast.alias) and _bound_by(node) == name)
            or (isinstance(node, Function | ast.ClassDef) and node.name == name)
        ):
            yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            queue += ast.iter_child_nodes(node)


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[ast.Name]:
    """Yield the names that an assignment binds."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        found = (each for each in ast.walk(target) if isinstance(each, ast.Name))
        yield from (each for each in found if isinstance(each.ctx, ast.Store))


def _end(part: SourcePart, node: SourceNode) -> At:
    return part.cell or 0, part.lines.position(part.span(node)[1])


def _position(part: SourcePart, node: SourceNode) -> At:
    return part.cell or 0, part.lines.position(part.span(node)[0])


def _start(place: Place) -> At:
    return place.cell or 0, start_of(place)


def _bound_by(node: ast.arg | ast.alias) -> str:
    return (node.asname or node.name).partition(".")[0] if isinstance(node, ast.alias) else node.arg


def _changed(part: SourcePart, names: Collection[str], attributes: Collection[str]) -> Iterator[SourceNode]:
    """Yield each node inside one of these objects that changes a value."""
    for node in ast.walk(part.tree):
        if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
            continue
        whose = node.value.id if isinstance(node.value, ast.Name) else ""
        if node.attr in attributes if isinstance(node, ast.Attribute) else whose in names:
            yield node
