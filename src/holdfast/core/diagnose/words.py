"""The literals that a regular expression cannot match without: what a log is searched for before any expression is tried.

A log has millions of lines, and a signature's expression costs microseconds a line. All literals together are found in one pass
at hundreds of megabytes a second, and only lines that have one are read at all.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from re import _constants as opcodes  # type: ignore[attr-defined]  # the parser of `re` itself: it has no public name
from re import _parser as parser  # type: ignore[attr-defined]  # private, and the only parser there is
from typing import Any, Final

SHORTEST: Final = 5
"""Characters of a word. Shorter ones stand in every other line."""
LONG: Final = 12
"""Characters of a run outside all groups from which no better one is looked for: it is found ten times as fast."""
PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*(?:,\d*)?\}|[()|^$.*+?{]|[^\\\[()|^$.*+?{]+", re.DOTALL)
"""Parts of an expression: an escape, a set, a sign, a run of plain characters."""
FLAGGED: Final = re.compile(r"\(\?[aiLmsux]")
REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT})
COMMON: Final = re.compile(
    r"(?:[\w.]*(?:Error|Exception|error|Warning|warning)|failed|found|loaded|install(?:ed)?|model|training|[Tt]rainer|Traceback|tokenizer"
    r"|torch|is not|does not|must be|Unsloth|transformers|dataset|reward(?:s|_std)?|checkpoint)?[ .:'`\"(]*"
)
"""Runs that healthy logs are full of: one that is rarer is the better word, even if it is shorter."""


class NoWordError(ValueError):
    """An expression has no literal run that every match of it contains."""


@cache
def words_of(expression: str) -> tuple[str, ...]:
    r"""Return literals of which every match of an expression contains at least one, each as long as can be.

    Args:
        expression: As `re` reads it.

    Returns:
        One word; more where alternatives at the same place have none in common.

    Raises:
        NoWordError: None has five characters.
        re.error: It is no regular expression.

    >>> words_of(r"got an unexpected keyword argument '(?P<name>\w+)'")
    ("got an unexpected keyword argument '",)
    >>> words_of(r"(?:Repo|Access to) .* is (?:restricted|disabled)")
    ('restricted', 'disabled')
    """
    plain = max(_plain_runs(expression), key=len, default="")
    if len(plain) >= LONG and not COMMON.fullmatch(plain.strip()):
        return (plain,)
    tree = parser.parse(expression)
    choices = [] if tree.state.flags & re.IGNORECASE else list(_choices(tree))
    best = max(choices, key=_rank, default=())
    if not best or min(map(len, best)) < SHORTEST:
        what = f"no run of {SHORTEST} characters stands in every match of {expression!r}"
        raise NoWordError(what)
    return tuple(dict.fromkeys(best))


def _plain_runs(expression: str) -> Iterator[str]:
    """Yield runs of literals outside all groups; none if they may not all be needed, or mean something else."""
    if FLAGGED.search(expression):
        return
    run, found = "", list[str]()
    for part in _outside_groups(expression):
        literal = _literal(part)
        if literal:
            run += literal
            continue
        if part == "|":
            return
        found.append(run[:-1] if part[0] in "*?{" else run)
        run = ""
    yield from (*found, run)


def _outside_groups(expression: str) -> Iterator[str]:
    """Yield the parts of an expression, with a closing parenthesis in place of each that stands in a group."""
    depth = 0
    for part in PART.findall(expression):
        depth += (part == "(") - (part == ")")
        yield ")" if depth else part


def _literal(part: str) -> str:
    """Return the characters that a part stands for; none if it is no literal."""
    if part[0] == "\\":
        return "" if part[1].isalnum() else part[1]
    return "" if part[0] in "[()|^$.*+?{" else part


def _rank(words: Sequence[str]) -> tuple[bool, bool, float]:
    """Return a sort key for a set of words: none too short, no common ones, long ones, few."""
    shortest = min(map(len, words))
    return (
        shortest >= SHORTEST,
        not any(COMMON.fullmatch(word.strip()) for word in words),
        shortest - 2 * (len(words) - 1),
    )


def _choices(nodes: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield each set of words of which one must stand, in a sequence of the expression's parts."""
    run = ""
    for kind, value in nodes:
        if kind is opcodes.LITERAL:
            run += chr(value)
            continue
        if _is_zero_width(kind):
            continue
        if run:
            yield (run,)
            run = ""
        yield from _inside(kind, value)
    if run:
        yield (run,)


def _is_zero_width(kind: Any) -> bool:
    """True if a part takes no characters, so that the literals on both sides of it stand together."""
    return kind in (opcodes.AT, opcodes.ASSERT, opcodes.ASSERT_NOT)


def _inside(kind: Any, value: Any) -> Iterator[tuple[str, ...]]:
    if kind is opcodes.BRANCH:
        best = (max(_choices(branch), key=_rank, default=("",)) for branch in value[1])
        yield tuple(chain.from_iterable(best))
    else:
        yield from _choices(_needed_parts(kind, value))


def _needed_parts(kind: Any, value: Any) -> Any:
    """Return the parts within a part that stand in each match of it."""
    if kind is opcodes.ATOMIC_GROUP:
        return value
    if kind is opcodes.SUBPATTERN:
        return () if value[1] & re.IGNORECASE else value[3]
    return value[2] if kind in REPEATS and value[0] > 0 else ()
