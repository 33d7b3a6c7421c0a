"""Values that move from one argument to another, written there as they were: `2**10`, a name, `options.max_length`."""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from holdfast.adapters.readers.script.parts import SourceNode, SourcePart, read_parts, source_at, start_of
from holdfast.core.job.document import Document, Set, ValueEdit, parse_key
from holdfast.core.job.source import SourceExpression
from holdfast.core.text.places import Place

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
Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign
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
    nodes, parts = _simple_nodes(source), read_parts(document)
    around = _function(parts, home)
    if not nodes or around is not _function(parts, place):
        return False
    settled = all(_is_settled(parts, around, name, home) for name in _names(nodes))
    return settled and all(_position(part, node) < _start(home) for part, node in _changed(parts, nodes))


def _simple_nodes(source: str) -> list[ast.AST]:
    """Return the nodes of an expression that means the same in another place if its names do; none of any other."""
    try:
        nodes = list(ast.walk(ast.parse(source, mode="eval").body))
    except SyntaxError:
        return []
    return nodes if all(isinstance(node, SIMPLE) for node in nodes) else []


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _is_settled(parts: Sequence[SourcePart], around: Function | None, name: str, home: Place) -> bool:
    """True if a name has one value in a scope, or in the program around it, and got it before a place."""
    inner = ((part, around) for part in parts if around is not None and part.cell == home.cell)
    ends = _ends(inner, name) or _ends(((part, part.tree) for part in parts), name)
    return len(ends) == 1 and ends[0] <= _start(home)


def _ends(scopes: Iterable[tuple[SourcePart, ast.AST]], name: str) -> list[At]:
    """Return where the statements end that bind a name in some scopes."""
    return [_end(part, node) for part, scope in scopes for node in _binding(scope, name)]


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
        if isinstance(node, SourceNode):
            yield from (node for bound in _bound_names(node) if bound == name)
        queue += _in_same_scope(node)


def _in_same_scope(node: ast.AST) -> Iterable[ast.AST]:
    """Return the nodes within one that may bind names in its scope."""
    if isinstance(node, Assignment):
        return [node.value] if node.value else []
    return () if isinstance(node, Function | ast.ClassDef | ast.Lambda) else ast.iter_child_nodes(node)


def _bound_names(node: SourceNode) -> Iterable[str]:
    """Return the names that a node binds itself."""
    if isinstance(node, Assignment):
        return _targets(node)
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    return _stored(node)


def _targets(node: Assignment) -> Iterator[str]:
    """Yield the names that an assignment binds."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        for each in ast.walk(target):
            yield from _stored(each)


def _stored(node: ast.AST) -> list[str]:
    """Return the name that a node is, if it is not read."""
    return [node.id] if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else []


def _end(part: SourcePart, node: SourceNode) -> At:
    return part.cell or 0, part.lines.position(part.span(node)[1])


def _position(part: SourcePart, node: SourceNode) -> At:
    return part.cell or 0, part.lines.position(part.span(node)[0])


def _start(place: Place) -> At:
    return place.cell or 0, start_of(place)


def _changed(parts: Sequence[SourcePart], within: Sequence[ast.AST]) -> Iterator[tuple[SourcePart, SourceNode]]:
    """Yield each node that changes a value inside one of the objects that an expression names, after its text."""
    names, attributes = _names(within), {node.attr for node in within if isinstance(node, ast.Attribute)}
    for part in parts:
        for node in ast.walk(part.tree):
            if isinstance(node, ast.Attribute | ast.Subscript) and _changes(node, names, attributes):
                yield part, node


def _changes(node: ast.Attribute | ast.Subscript, names: Collection[str], attributes: Collection[str]) -> bool:
    """True if a node gives one of some attributes another value, or an item of a variable."""
    if isinstance(node.ctx, ast.Load):
        return False
    if isinstance(node, ast.Attribute):
        return node.attr in attributes
    return isinstance(node.value, ast.Name) and node.value.id in names
