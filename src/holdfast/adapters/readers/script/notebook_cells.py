"""A notebook's cells as Python: what only IPython understands is taken out, line for line."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.adapters.readers.script.source import is_python
from holdfast.core.text.places import LINE_BREAK

PYTHON_CELLS: Final = frozenset({"capture", "time", "timeit", "prun", "python", "python3", "pypy"})
"""Cell magics whose cell is Python that runs in the notebook, or may."""
COMMANDS: Final = "pip3?|conda|uv|apt|apt-get|wget|curl|git|cd|ls|cat|mkdir|rm|cp|mv|huggingface-cli|hf"
SHELL: Final = re.compile(rf"[!%?]|({COMMANDS})\s+(?!(in|is|if|and|or|not|else|for)\b)[-\w./~\"'].*(?<!:)$")
"""A line of the shell, also one that IPython takes for one without a mark; tried only in cells that are not Python."""
ASSIGNED_SHELL: Final = re.compile(r"([\w, .\[\]'\"]+?)=\s*[!%](?!=)")
HELP: Final = re.compile(r"[\w.()\[\]'\"]+\?+\s*$")
PIP: Final = re.compile(r"\b(?:pip3?|uv pip|conda|uv) +(?:install|add)\b")


def clean_cell(text: str) -> str:
    r"""Return a cell as Python: what only IPython understands becomes `pass` or a comment, line for line.

    >>> clean_cell("!pip install trl\nx = !ls\ny = 1")
    'pass\nx = None\ny = 1'
    """
    if is_python(text):
        return text
    indent = indent_of(text)
    lines = [line.removeprefix(indent) for line in LINE_BREAK.split(text)]
    if _is_foreign(lines):
        return "\n" * (len(lines) - 1)
    inside = _inside_texts(lines)
    result: list[str] = []
    for begin, end in _logical_lines(lines):
        block = lines[begin : end + 1]
        result += block if begin in inside else _clean(block)
    return "\n".join(result)


def _is_foreign(lines: Sequence[str]) -> bool:
    """True if a magic on a cell's first line hands the cell to another program than Python."""
    first = next((line.strip() for line in lines if line.strip()), "")
    magic = re.match(r"%%\s*(\w+)", first)
    return magic is not None and magic[1] not in PYTHON_CELLS


def indent_of(text: str) -> str:
    r"""Return the indentation that IPython strips from each line of a cell: that of the first line, if all have it.

    >>> indent_of("\n  x = 1\n\n  y = 2"), indent_of("x = 1\n  y = 2"), indent_of("  x = 1\ny = 2")
    ('  ', '', '')
    """
    lines = [line for line in LINE_BREAK.split(text) if line.strip()]
    first = lines[0] if lines else ""
    indent = first[: len(first) - len(first.lstrip())]
    return indent if all(line.startswith(indent) for line in lines) else ""


def _clean(block: Sequence[str]) -> list[str]:
    """Return the lines of one logical line as Python."""
    stripped = block[0].lstrip()
    indent = block[0][: len(block[0]) - len(stripped)]
    rest = [""] * (len(block) - 1)
    if stripped.startswith("%%"):
        return ["", *rest]
    timed = re.match(r"%(?:time|timeit)\s+(?!-)(.*)", stripped)
    if timed and not rest:
        return [indent + timed[1]]
    if SHELL.match(stripped) or HELP.fullmatch(stripped):
        return [f"{indent}pass", *rest]
    assigned = ASSIGNED_SHELL.match(stripped)
    if assigned:
        return [f"{indent}{assigned[1].rstrip()} = None", *rest]
    return list(block)


def _logical_lines(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    r"""Yield the first and the last of the lines that a `\` at the end makes one; only shell lines are joined."""
    position = 0
    while position < len(lines):
        end = position
        stripped = lines[position].lstrip()
        if SHELL.match(stripped) or ASSIGNED_SHELL.match(stripped) or PIP.search(stripped):
            while lines[end].rstrip().endswith("\\") and end + 1 < len(lines):
                end += 1
        yield position, end
        position = end + 1


QUOTES: Final = re.compile(r'"""|\'\'\'')


def _inside_texts(lines: Sequence[str]) -> frozenset[int]:
    """Return the lines that begin within a text of several lines: what looks like a magic there is none."""
    inside: set[int] = set()
    quote = ""
    for number, line in enumerate(lines):
        if quote:
            inside.add(number)
        for found in QUOTES.finditer(line):
            if not quote and "#" not in line[: found.start()]:
                quote = found[0]
            elif quote == found[0]:
                quote = ""
    return frozenset(inside)
