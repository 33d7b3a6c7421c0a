"""A text as a syntax tree, whatever the text is: what cannot be read is one UsageError with its place."""

import ast
import re
import warnings
from collections.abc import Callable
from typing import Final

from holdfast.core.errors import Spot, UsageError

LONGEST: Final = 3_000_000
"""Characters: no program that a person wrote is longer, and parsing takes about a second for each million."""

# Patterns as texts: they are only compiled when something is wrong.
PYTHON_2: Final = r"Missing parentheses in call to '(print|exec)'|multiple exception types must be|<> operator"
PYTHON_2_LINES: Final = r"(?m)^\s*(print\s+[\"'\w]|exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+[\w.]+\s*,\s)"
LATER_PYTHON: Final = (
    "holdfast reads what the Python it runs on reads: if the script is for a newer one, install it there"
)


def parse(text: str, path: str, at: Callable[[int], Spot] | None = None) -> tuple[ast.Module, str]:
    """Return the syntax tree of a program, and the text that its places count in.

    Args:
        text: The program.
        path: Its name, for messages.
        at: Where a line of the text stands for its reader; by default, in the file.

    Raises:
        UsageError: It is no Python, or too long or too deeply nested to be a script.
    """
    if len(text) > LONGEST:
        what = f"the file holds {len(text):,} characters: too long for a script (at most {LONGEST:,})"
        raise UsageError(what, where=path, fix="name the script itself")
    if "\0" in text:
        what = "the file holds null bytes: it is no Python text"
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
            raise UsageError(f"the file is no text: {error}", where=path, fix="save it as UTF-8 text") from None


def _objection(error: SyntaxError, text: str, path: str, at: Callable[[int], Spot] | None) -> UsageError:
    line = error.lineno or 1
    where = at(line) if at else Spot(path, line)
    spot = Spot(where.path, where.line, error.offset or None)
    if re.search(PYTHON_2, error.msg) or re.search(PYTHON_2_LINES, text):
        return UsageError(f"this is Python 2: {error.msg}", where=spot, fix="port the script to Python 3")
    later = "f-string" in error.msg or "type" in (error.text or "").split()[:1]
    fix = LATER_PYTHON if later else "correct the line"
    return UsageError(f"the script is no valid Python: {error.msg}", where=spot, fix=fix)
