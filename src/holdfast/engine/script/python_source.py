"""Writing Python: values as literals, texts as blocks, and the imports that a body of code uses.

Whatever stands in a value stays data: nothing that a job says can end its literal.
"""

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.core.errors import UsageError

INDENT = 4
LINE = 100
"""Characters up to which a list is written on one line."""


def render_literal(value: Any, indent: int = 0) -> str:
    """Return the Python expression for a plain value, laid out as a formatter would.

    Args:
        value: Text, number, bool, None, or lists and mappings of them.
        indent: Column that the statement starts at; lines after the first are indented more.

    Raises:
        UsageError: A value is of another type, such as a date.

    >>> print(render_literal({"learning_rate": 2e-05, "report_to": ["none"]}))
    {
        "learning_rate": 2e-5,
        "report_to": ["none"],
    }
    """
    if isinstance(value, Mapping):
        items = [
            f"{render_literal(str(key))}: {render_literal(child, indent + INDENT)}" for key, child in value.items()
        ]
        return _exploded("{", items, "}", indent)
    if isinstance(value, list | tuple):
        items = [render_literal(child, indent + INDENT) for child in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) + indent < LINE and "\n" not in line else _exploded("[", items, "]", indent)
    return _render_scalar(value)


def render_block(text: str) -> str:
    """Return an expression for a text of many lines: as it stands between raw quotes, where Python can read it so."""
    for quotes in ('"""', "'''"):
        block = f"r{quotes}\n{text}{quotes}"
        if spells(block, "\n" + text) and not _holds_header(text):
            return f"{block}[1:]"
    lines = [_render_scalar(line) for line in text.splitlines(keepends=True)]
    return "\n".join(["(", *(" " * 2 * INDENT + line for line in lines), " " * INDENT + ")"]) if lines else '""'


def render_imports(modules: Mapping[str, Iterable[str]], body: str) -> list[str]:
    """Return the import lines of what a body of code uses, sorted as is usual.

    Args:
        modules: Names that may be imported from each module; none if the module itself is imported.
        body: The code.

    >>> render_imports({"json": (), "os": (), "pathlib": ("Path", "PurePath")}, "Path(os.sep)")
    ['import os', 'from pathlib import Path']
    """
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    plain = [f"import {module}" for module, names in modules.items() if not names and module.split(".")[0] in used]
    taken = {module: sorted(used.intersection(names)) for module, names in modules.items()}
    return sorted(plain) + [
        f"from {module} import {', '.join(names)}" for module, names in sorted(taken.items()) if names
    ]


def _exploded(opening: str, items: list[str], closing: str, indent: int) -> str:
    if not items:
        return opening + closing
    lines = (f"{' ' * (indent + INDENT)}{item},\n" for item in items)
    return f"{opening}\n{''.join(lines)}{' ' * indent}{closing}"


def _render_scalar(value: Any) -> str:
    match value:
        case None | bool():
            return repr(value)
        case str():
            return _double_quoted(repr(str(value)))
        case int():
            return repr(int(value))
        case float():
            return _render_float(float(value))
        case _:
            fix = "write it as text, in quotes, or as a number"
            raise UsageError(f"a {type(value).__name__} cannot stand in a script", where=str(value), fix=fix)


def _render_float(value: float) -> str:
    """Return `2e-5` for what Python shows as `2e-05`; infinity and NaN have no literal of their own."""
    return re.sub(r"e([+-])0", r"e\1", repr(value)) if math.isfinite(value) else f'float("{value}")'


def _double_quoted(literal: str) -> str:
    """Return a literal in the quotes that formatters prefer, where that needs no further escapes."""
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in literal else literal


def spells(expression: str, text: str) -> bool:
    """True if an expression is a literal of the text: not if that ends in a backslash or a quote, or has carriage returns."""
    try:
        return bool(ast.literal_eval(expression) == text)
    except (SyntaxError, ValueError):
        return False


def _holds_header(text: str) -> bool:
    """Whether tools would take a line of the text for the script's own PEP 723 header."""
    return re.search(r"(?m)^# ///", text) is not None
