"""What a reward function takes each of its `completions` for, as far as its own lines say so."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, Literal

from holdfast.catalog.calls.element_loops import element_loops

CallableNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
CompletionUse = Literal["", "text", "messages", "record"]
COMPLETIONS: Final = "completions"
ASKING: Final = frozenset({"isinstance", "type", "hasattr", "getattr"})
"""Functions by which a reward tells texts from messages."""
OF_TEXT: Final = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "split", "rsplit", "splitlines", "startswith", "endswith", "find"}
    | {"replace", "casefold", "partition", "rpartition", "title", "isdigit", "encode", "removeprefix", "removesuffix"}
)
"""Methods that a text has and a list has not."""
SEARCHING: Final = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split"})
"""Functions of `re` whose second argument is a text."""


def completion_use(function: CallableNode) -> CompletionUse:
    r"""Return what each completion is surely taken for; empty if that is not clear, or the function asks what it is.

    >>> completion_use(ast.parse("def f(completions):\n    return [float(len(c.split())) for c in completions]").body[0])
    'text'
    >>> completion_use(ast.parse("def f(completions):\n    return [len(c[0]['content']) for c in completions]").body[0])
    'messages'
    """
    nodes = list(ast.walk(function))
    if any(map(_hides, nodes)) or COMPLETIONS not in {each.arg for each in nodes if isinstance(each, ast.arg)}:
        return ""
    uses = {use for node in nodes for use in _uses_within(node)}
    return uses.pop() if len(uses) == 1 else ""


def _hides(node: ast.AST) -> bool:
    """True if a node makes it unclear what a completion is: it asks, catches errors, or gives `completions` another value."""
    match node:
        case ast.Try():
            return True
        case ast.Name(id=name, ctx=ast.Load()):
            return name in ASKING
        case ast.Name(id=name):
            return name == COMPLETIONS
        case _:
            return False


def _uses_within(node: ast.AST) -> Iterator[CompletionUse]:
    """Yield what a loop over the completions takes each of them for."""
    for loop in element_loops(node, COMPLETIONS):
        yield from _uses_of(loop.name, loop.body)


def _uses_of(name: str, within: Iterable[ast.AST]) -> Iterator[CompletionUse]:
    nodes = chain.from_iterable(map(ast.walk, within))
    yield from (use for node in nodes if (use := _use_of(node, name)) is not None)


def _use_of(node: ast.AST, name: str) -> CompletionUse | None:
    """Return what a node itself takes the value of a name for; None if it does not use it, or in a way that shows nothing."""
    if _takes_for_text(node, name):
        return "text"
    match node:
        case ast.Subscript(
            value=ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=int()) | ast.UnaryOp()),
            slice=ast.Constant(value=str()),
        ) if held == name:
            return "messages"
        case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str())) if held == name:
            return "record"
        case ast.Name(id=held, ctx=ast.Store()) if held == name:
            return ""
        case _:
            return None


def _takes_for_text(node: ast.AST, name: str) -> bool:
    """True if a node calls a method that texts alone have, or searches the value of a name by `re`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=held), attr=method)) if held == name and method in OF_TEXT:
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[_, ast.Name(id=held), *_]):
            return held == name and method in SEARCHING
        case _:
            return False
