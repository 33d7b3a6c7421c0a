"""The loops of a function that go over one of its parameters, and the names that they give the elements."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class ElementLoop(NamedTuple):
    """A loop over a parameter: the name of each element, and what is done with it."""

    name: str
    body: Sequence[ast.AST]


def element_loops(node: ast.AST, parameter: str) -> Iterator[ElementLoop]:
    """Yield the loops that a node itself is, over a parameter alone or beside others in `zip` and `enumerate`."""
    for target, source, body in _loops(node):
        yield from (ElementLoop(name, body) for name in _named(target, source, parameter))


def _loops(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, list[ast.AST]]]:
    match node:
        case ast.For(target=target, iter=source, body=body):
            yield target, source, list(body)
        case ast.ListComp(elt=made, generators=loops) | ast.GeneratorExp(elt=made, generators=loops):
            for loop in loops:
                yield loop.target, loop.iter, [made, *loop.ifs]
        case _:
            pass


def _named(target: ast.expr, source: ast.expr, parameter: str) -> Iterator[str]:
    """Yield the name that a loop gives each element of a parameter."""
    match target, source:
        case ast.Name(id=name), ast.Name(id=over) if over == parameter:
            yield name
        case ast.Tuple(elts=[_, each]), ast.Call(func=ast.Name(id="enumerate"), args=[over, *_]):
            yield from _named(each, over, parameter)
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=sources):
            for each, over in zip(names, sources, strict=False):
                yield from _named(each, over, parameter)
        case _:
            pass
