"""A text as a syntax tree, whatever the text is: what cannot be read is one UsageError with its place."""

import ast
import re
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Final

from holdfast.core.errors import LaterPythonError, Spot, UsageError

LONGEST: Final = 3_000_000
"""Characters: no program that a person wrote is longer, and parsing takes about a second for each million."""

# Patterns as texts: they are only compiled when something is wrong.
PYTHON_2: Final = r"Missing parentheses in call to '(print|exec)'|multiple exception types must be|<> operator"
PYTHON_2_LINES: Final = r"(?m)^\s*(print\s+[\"'\w]|exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+[\w.]+\s*,\s)"
LATER_SYNTAX: Final = r"^\s*(type\s+\w|(async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[|except\s)|\b[rR]?[fFtT][rR]?['\"]"
"""What came after 3.11: `type`, parameters of types, classes after `except` without brackets, texts in texts that format."""
DEEPEST: Final = 50
WIDEST: Final = 5_000
"""Brackets within brackets, and characters of a line, beyond which LibCST is not tried: it is written for programs."""
PYTHON_2_CATCH: Final = r"except\s+[\w.]+\s*,\s*[a-z_]\w*\s*:"
"""The name of an error after a comma; classes there, which begin with a capital, are Python 3.14's."""


def parse(text: str, path: str, at: Callable[[int], Spot] | None = None) -> tuple[ast.Module, str]:
    """Return the syntax tree of a program, and the text that its places count in.

    Args:
        text: The program.
        path: Its name, for messages.
        at: Where a line of the text stands for its reader; by default, in the file.

    Raises:
        UsageError: It is not valid Python, or too long or too deeply nested to be a script.
    """
    if len(text) > LONGEST:
        what = f"the file holds {len(text):,} characters: too long for a script (at most {LONGEST:,})"
        raise UsageError(what, where=path, fix="name the script itself")
    if "\0" in text:
        what = "the file holds null bytes: it is not Python source"
        raise UsageError(what, where=Spot(path, text[: text.index("\0")].count("\n") + 1), fix="save it as UTF-8 text")
    if text.startswith("\ufeff"):  # a form feed takes its place: as wide, and nothing to Python at the start of a line
        text = "\f" + text[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `"\d"`: the script's own affair
        try:
            return ast.parse(text, path), text
        except SyntaxError as error:
            raise _objection(error, text, path, at) from None
        except (RecursionError, MemoryError):
            what = "the program is nested too deeply to be read"
            raise UsageError(what, where=path, fix="take the deepest expression apart") from None
        except ValueError as error:  # lone surrogates
            raise UsageError(f"the file is not text: {error}", where=path, fix="save it as UTF-8 text") from None


def is_python(text: str) -> bool:
    """True if a text is a program as it stands."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _objection(error: SyntaxError, text: str, path: str, at: Callable[[int], Spot] | None) -> UsageError:
    line = error.lineno or 1
    where = at(line) if at else Spot(path, line)
    spot = Spot(where.path, where.line, error.offset or None)
    if _needs_later_python(error, text):
        here = ".".join(map(str, sys.version_info[:2]))
        what = f"it is written for a newer Python than {here}, on which holdfast runs: {error.msg} in line {spot.line}"
        return LaterPythonError(what, where=spot, fix="install holdfast in the Python that the script is for")
    if re.search(PYTHON_2, error.msg) or re.search(PYTHON_2_LINES, text):
        return UsageError(f"this is Python 2: {error.msg}", where=spot, fix="port the script to Python 3")
    return UsageError(f"the script is not valid Python: {error.msg}", where=spot, fix="correct the line")


def _needs_later_python(error: SyntaxError, text: str) -> bool:
    """True if LibCST, which knows the grammar of every Python 3, reads what this Python does not."""
    line = error.text or ""
    looks_new = ("f-string" in error.msg or re.search(LATER_SYNTAX, line)) and not re.search(PYTHON_2_CATCH, line)
    if not looks_new or _nesting(text) > DEEPEST or max(map(len, text.splitlines()), default=0) > WIDEST:
        return False
    libcst = import_module("libcst")
    try:
        libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        return False
    return True


def _nesting(text: str) -> int:
    """Return an upper bound for the nesting depth of brackets; those in strings count too."""
    depth = deepest = 0
    for found in re.finditer(r"[\[({]|[\])}]", text):
        depth = depth + 1 if found[0] in "[({" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
