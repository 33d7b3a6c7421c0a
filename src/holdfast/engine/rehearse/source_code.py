"""The user's source code, as syntax."""

import ast
from collections.abc import Iterator, Mapping

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def nodes_of(source: str) -> list[ast.AST]:
    """Return the nodes of a module, the outermost first; none of what is not valid Python."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return []


def functions_named(source: str, name: str) -> Iterator[FunctionNode]:
    r"""Yield the functions of a module that go by a name, of a class by its too.

    >>> [each.lineno for each in functions_named("def f(): ...\nclass A:\n    def f(self): ...", "A.f")]
    [3]
    """
    owner, _, last = name.rpartition(".")
    for around in nodes_of(source):
        own = around.name if isinstance(around, ast.ClassDef) else ""
        for node in ast.iter_child_nodes(around):
            if isinstance(node, FunctionNode) and (own, node.name) == (owner, last):
                yield node


def functions_in(sources: Mapping[str, str], name: str) -> list[tuple[str, FunctionNode]]:
    """Return the functions of several files, by path, that go by a name, each with its file."""
    return [(path, node) for path, source in sources.items() for node in functions_named(source, name)]


def spans(node: ast.stmt | ast.expr, line: int) -> bool:
    """True if a line is one of those that a statement or an expression stands in."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)
