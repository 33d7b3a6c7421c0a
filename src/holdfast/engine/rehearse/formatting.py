"""A formatting function that gives its trainer no text: TRL since 0.17 calls it with one row, and took a batch before.

The exception is raised in TRL, behind the function's end, so that no frame of it is left in the traceback.
"""

import ast
import re
from collections.abc import Mapping
from typing import Final

from holdfast.engine.rehearse.advising import Advice, describe_function
from holdfast.engine.rehearse.tracebacks import FailingLine

RETURNED: Final = re.compile(r"^AttributeError: '(\w+)' object has no attribute 'endswith'")
FORMATTING: Final = "formatting_func"
TAKES: Final = "add_eos"
"""The function of TRL that takes what the formatting function returned."""


def find_formatting(error: str, at: FailingLine, sources: Mapping[str, str]) -> FailingLine | None:
    """Return the formatting function of a trainer that took no text from it; None where something else failed.

    Args:
        error: The exception.
        at: The script's line that called the library.
        sources: The texts of the user's files, by path.
    """
    if at.entered != TAKES or not RETURNED.match(error):
        return None
    try:
        tree = ast.parse(sources.get(at.path, ""))
    except (SyntaxError, ValueError):
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _spans(node, at.line))
    given = (word.value for call in calls for word in call.keywords if word.arg == FORMATTING)
    name = next((value.id for value in given if isinstance(value, ast.Name)), None)
    made = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    if not made:
        return None
    line = _last_return(made[-1])
    code = sources[at.path].splitlines()[line - 1].strip()
    name = made[-1].name
    return FailingLine(path=at.path, line=line, code=code, function=name, role="formatting function", cells=at.cells)


def advise_formatting(error: str, line: FailingLine) -> Advice:
    """Return the advice on a formatting function that returns no text."""
    returned = RETURNED.match(error)
    kind = returned[1] if returned else "object"
    what = "returns nothing" if kind == "NoneType" else f"returns a {kind}"
    return Advice(
        f"{describe_function(line)} {what}. The trainer calls it with one row and takes one text.",
        f"Return one text for one row at {line.where}.",
    )


def _spans(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _last_return(function: ast.FunctionDef) -> int:
    returns = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
    return max(returns, default=function.lineno)
