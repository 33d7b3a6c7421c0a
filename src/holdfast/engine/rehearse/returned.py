"""Functions that a script gives its trainer, and that return what the trainer cannot use.

The exception is raised in TRL, behind the function's end, so that no frame of it is left in the traceback.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.rehearse.rehearsal import ProcessEvent
from holdfast.engine.rehearse.circumstances import Advice, describe_function
from holdfast.engine.rehearse.source_code import FunctionNode, functions_in, nodes_of, spans
from holdfast.engine.rehearse.tracebacks import FailingLine


@dataclass(frozen=True, slots=True)
class GivenFunction:
    """An argument of a trainer that takes functions.

    Attributes:
        keyword: The argument.
        role: A function that is given by it.
        failure: The class of failure of one that returns something else.
        returned: The exceptions that tell of it; a group is the type that came instead.
        wanted: What the trainer wants of it.
        fix: What to do.
    """

    keyword: str
    role: str
    failure: str
    returned: re.Pattern[str]
    wanted: str
    fix: str


REWARDED: Final = "_calculate_rewards"
"""The method of TRL's trainers that calls reward functions."""
GIVEN: Final[Mapping[str, GivenFunction]] = {
    # TRL since 0.17 calls it with one row, and took a batch before.
    "add_eos": GivenFunction(
        keyword="formatting_func",
        role="formatting function",
        failure="user-code-error",
        returned=re.compile(r"^AttributeError: '(\w+)' object has no attribute 'endswith'"),
        wanted="The trainer calls it with one row and takes one text.",
        fix="Return one text for one row at {where}.",
    ),
    REWARDED: GivenFunction(
        keyword="reward_funcs",
        role="reward function",
        failure="grpo-reward-function-error",
        returned=re.compile(r"^\w+: (?:'(\w+)' object is not iterable)?"),
        wanted="The trainer takes a list with a number for each completion, or None where the function does not apply.",
        fix="Return a number for each completion at {where}.",
    ),
}
"""By the function of TRL that takes what such a function returned."""


def find_rewarding(error: str, called: ProcessEvent, sources: Mapping[str, str]) -> FailingLine | None:
    """Return the reward function whose result a trainer could not use; None where something else failed.

    Args:
        error: The exception.
        called: The fact that names the function that was called last; empty if there is none.
        sources: The texts of the user's files, by path.
    """
    if not called or not GIVEN[REWARDED].returned.match(error):
        return None
    first = int(called["line"])
    found = [
        (path, node)
        for path, node in functions_in(sources, str(called["function"]))
        if first in (node.lineno, *(each.lineno for each in node.decorator_list))
    ]
    return _at_return(*found[0], sources, REWARDED) if len(found) == 1 else None


def find_returning(error: str, at: FailingLine, sources: Mapping[str, str]) -> FailingLine | None:
    """Return the function of the script's own whose result a trainer could not use; None where something else failed.

    Args:
        error: The exception.
        at: The script's line that called the library.
        sources: The texts of the user's files, by path.
    """
    given = GIVEN.get(at.entered)
    if given is None or not given.returned.match(error):
        return None
    nodes = nodes_of(sources.get(at.path, ""))
    function = _only_function(nodes, _names_given(nodes, at.line, given.keyword, error))
    return replace(_at_return(at.path, function, sources, at.entered), cells=at.cells) if function else None


def _names_given(nodes: Sequence[ast.AST], line: int, keyword: str, error: str) -> set[str]:
    """Return the names of the functions that are given by a keyword: in the call at a line, else in any; those that the exception names, if there are any."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    names = set(_names((call for call in calls if spans(call, line)), keyword)) or set(_names(calls, keyword))
    return {name for name in names if f"'{name}'" in error} or names


def _only_function(nodes: Sequence[ast.AST], names: set[str]) -> FunctionNode | None:
    """Return the last definition of a function, if it has the only one of some names."""
    if len(names) != 1:
        return None
    return next((node for node in reversed(nodes) if isinstance(node, ast.FunctionDef) and node.name in names), None)


def _at_return(path: str, function: FunctionNode, sources: Mapping[str, str], entered: str) -> FailingLine:
    """Return the last line of a function that returns something, as the line that failed."""
    line = _last_return(function)
    code = sources[path].splitlines()[line - 1].strip()
    return FailingLine(
        path=path, line=line, code=code, function=function.name, role=GIVEN[entered].role, entered=entered
    )


def advise_returning(error: str, line: FailingLine) -> Advice:
    """Return the advice on a function that returns what its trainer cannot use."""
    given = GIVEN[line.entered]
    returned = given.returned.match(error)
    kind = returned[1] if returned else ""
    refused = error.strip().partition("\n")[0].rstrip(".")
    what = "nothing" if kind == "NoneType" else f"a {kind}" if kind else f"what the trainer refuses: {refused}"
    return Advice(f"{describe_function(line)} returns {what}. {given.wanted}", given.fix.format(where=line.where))


def _names(calls: Iterable[ast.Call], keyword: str) -> Iterator[str]:
    """Yield the names of what calls are given by a keyword: one function, or a list of them."""
    for value in (word.value for call in calls for word in call.keywords if word.arg == keyword):
        parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        yield from (part.id if isinstance(part, ast.Name) else ast.unparse(part) for part in parts)


def _last_return(function: FunctionNode) -> int:
    returns = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
    return max(returns, default=function.lineno)
