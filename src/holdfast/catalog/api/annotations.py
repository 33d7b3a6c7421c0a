"""The plain types that an annotation admits, from its text alone."""

import ast
from functools import cache
from typing import Final

PLAIN: Final = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "dict": "dict",
    "Dict": "dict",
    "Mapping": "dict",
    "list": "list",
    "List": "list",
    "None": "null",
    "NoneType": "null",
}
ANY: Final = frozenset[str]()


class _NotPlainError(Exception):
    """Some part of the annotation is no plain type."""


@cache
def plain_types(annotation: str) -> frozenset[str]:
    """Return the names of the plain types that an annotation admits; none if it admits others, or that is not known.

    >>> sorted(plain_types("Optional[Union[int, list[str]]]")), plain_types("torch.dtype | None")
    (['int', 'list', 'null'], frozenset())
    """
    if not annotation:
        return ANY
    try:
        return _types(ast.parse(annotation.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, _NotPlainError):
        return ANY


def _types(node: ast.expr) -> frozenset[str]:
    match node:
        case ast.Constant(value=None):
            return frozenset({"null"})
        case ast.Constant(value=str(text)):  # "int | None", in quotes
            return _types(ast.parse(text.strip(), mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _types(left) | _types(right)
        case ast.Subscript(value=generic, slice=inner):
            return _subscripted(_name(generic), inner)
        case _:
            return _plain(_name(node))


def _subscripted(name: str, inner: ast.expr) -> frozenset[str]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    match name:
        case "Optional":
            return _types(inner) | {"null"}
        case "Union":
            return frozenset[str]().union(*map(_types, parts))
        case "Annotated" | "Final" | "ClassVar":
            return _types(parts[0])
        case "Literal":
            return frozenset(map(_type_of_member, parts))
        case _:
            return _plain(name)


def _type_of_member(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant):
        raise _NotPlainError
    return _name_of(type(node.value).__name__)


def _plain(name: str) -> frozenset[str]:
    return frozenset({_name_of(name)})


def _name_of(name: str) -> str:
    if name not in PLAIN:
        raise _NotPlainError
    return PLAIN[name]


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            raise _NotPlainError
