"""Messages as templates: what is said in the same words each time, and holes for what is computed."""

import ast
import re
import string
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, product
from typing import Final

from holdfast.catalog.messages.templates import HOLE, literal_words

ExpressionLookup = Callable[[str], Iterable[ast.expr]]
"""Gives what a name may stand for."""

FEWEST_WORDS: Final = 3
"""Literal words of a message that can be known again; `¤ is ¤` is said by everybody."""
LONGEST: Final = 140
"""Characters of a template: more do not tell it apart any better."""
DEPTH: Final = 4
"""Steps from a name to its text."""
MOST: Final = 8
"""Templates of one message: it may be put together of parts that differ."""
PERCENT: Final = re.compile(r"%(?:\(\w+\))?[#0\- +]*(?:\*|\d+)?(?:\.\d+)?([diouxXeEfFgGcrsa%])")
SHORTENING: Final = frozenset({"strip", "lstrip", "rstrip"})
UNWRAPPING: Final = frozenset({"dedent", "cleandoc", "str", "_"})
HOLES: Final = re.compile(rf"{HOLE}(?:\s*{HOLE})+")


def templates_of(node: ast.expr, lookup: ExpressionLookup, *, percent: bool) -> Iterator[str]:
    """Yield the templates of an expression that makes a message; none of one with too few words.

    Args:
        node: What is given to the exception, or to the logger.
        lookup: What names of the module and of the function stand for.
        percent: Whether a logger puts values into it.

    >>> list(templates_of(ast.parse("f'Unknown task: {task}. ' 'Use a known one.'", mode="eval").body, lambda _: (), percent=False))
    ['Unknown task: ¤. Use a known one.']
    """
    for text in dict.fromkeys(islice(_texts(node, lookup, DEPTH), MOST)):
        template = _shortened(_percent(text) if percent else text)
        if len(literal_words(template)) >= FEWEST_WORDS:
            yield template


def _shortened(text: str) -> str:
    """Return a template with single blanks and single holes, cut where it is long."""
    plain = HOLES.sub(HOLE, " ".join(text.split()))
    if len(plain) <= LONGEST:
        return plain
    return plain[:LONGEST].rpartition(" ")[0].rstrip(f" {HOLE}") + f" {HOLE}"


def _texts(node: ast.expr, lookup: ExpressionLookup, depth: int) -> Iterator[str]:
    """Yield each text that an expression may stand for, with holes."""
    match node:
        case ast.Constant(value=value):
            yield str(value).replace(HOLE, "")
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            yield from _joined(_summands(node), lookup, depth)
        case ast.BinOp(op=ast.Mod()) | ast.Call():
            yield from _formatting(node, lookup, depth)
        case ast.IfExp(body=body, orelse=other):
            yield from chain(_texts(body, lookup, depth), _texts(other, lookup, depth))
        case ast.Name(id=name) | ast.FormattedValue(value=ast.Name(id=name)) if depth:
            yield from _named(name, lookup, depth - 1)
        case _:
            yield HOLE


def _summands(node: ast.JoinedStr | ast.BinOp) -> list[ast.expr]:
    return node.values if isinstance(node, ast.JoinedStr) else [node.left, node.right]


def _named(name: str, lookup: ExpressionLookup, depth: int) -> Iterator[str]:
    """Yield the texts that a name may stand for; a hole where there is none."""
    others = _without(lookup, name)
    texts = [text for value in lookup(name) for text in _texts(value, others, depth)]
    yield from texts or (HOLE,)


def _without(lookup: ExpressionLookup, name: str) -> ExpressionLookup:
    """Return a lookup that does not know a name: its value, which depends on itself, is not known."""
    return lambda other: () if other == name else lookup(other)


def _joined(parts: Iterable[ast.expr], lookup: ExpressionLookup, depth: int) -> Iterator[str]:
    choices = [list(islice(_texts(part, lookup, depth), MOST)) for part in parts]
    yield from map("".join, islice(product(*choices), MOST))


def _formatting(node: ast.BinOp | ast.Call, lookup: ExpressionLookup, depth: int) -> Iterator[str]:
    """Yield the texts of an expression that formats or strips one."""
    match node:
        case ast.BinOp(left=left):
            yield from map(_percent, _texts(left, lookup, depth))
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            yield from map(_formatted, _texts(value, lookup, depth))
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in SHORTENING:
            yield from _texts(value, lookup, depth)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[value]) if name in UNWRAPPING:
            yield from _texts(value, lookup, depth)
        case _:
            yield HOLE


def _percent(text: str) -> str:
    return PERCENT.sub(lambda found: "%" if found[1] == "%" else HOLE, text)


def _formatted(text: str) -> str:
    try:
        parts = [(literal, field) for literal, field, _, _ in string.Formatter().parse(text)]
    except ValueError:
        return text
    return "".join(literal + ("" if field is None else HOLE) for literal, field in parts)
