"""Jupyter notebooks: their code cells joined to one program, with what only IPython understands taken out.

Covered: nbformat 3 and 4; magics, shell lines, help lines, `await` outside of functions; places count in their cell.
Not covered: kernels of other languages (an empty Document); what shell lines and `%run` do to the program.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from holdfast.adapters.readers.script import read_program
from holdfast.adapters.readers.script.places import Cell
from holdfast.adapters.readers.script.source import is_python
from holdfast.core.document import Document
from holdfast.core.errors import Spot, UsageError
from holdfast.core.notebook import code_cells
from holdfast.core.text import LINE_BREAK

PYTHON_CELLS: Final = frozenset({"capture", "time", "timeit", "prun", "python", "python3", "pypy"})
"""Cell magics whose cell is Python that runs in the notebook, or may."""
COMMANDS: Final = "pip3?|conda|uv|apt|apt-get|wget|curl|git|cd|ls|cat|mkdir|rm|cp|mv|huggingface-cli|hf"
SHELL: Final = re.compile(rf"[!%?]|({COMMANDS})\s+(?!(in|is|if|and|or|not|else|for)\b)[-\w./~\"'].*(?<!:)$")
"""A line of the shell, also one that IPython takes for one without a mark; asked only of cells that are no Python."""
ASSIGNED_SHELL: Final = re.compile(r"([\w, .\[\]'\"]+?)=\s*[!%](?!=)")
HELP: Final = re.compile(r"[\w.()\[\]'\"]+\?+\s*$")
PIP: Final = re.compile(r"\b(?:pip3?|uv pip|conda|uv) +(?:install|add)\b")


def read_notebook(
    text: str, path: str, *, beside: Callable[[str], str | None] | None = None, argv: Sequence[str] | None = None
) -> tuple[Document, ...]:
    """Return what a notebook says, like `read_script`.

    Raises:
        UsageError: It is no notebook, or its cells together are no Python.
    """
    notebook = _load(text, path)
    if not _is_python(notebook):
        return (Document(path=path, kind="script", text=text, values={}),)
    parts, cells, line = [], [], 1
    for number, source in code_cells(notebook).items():
        clean = clean_cell(source)
        cells.append(Cell(number, line, len(indent_of(source))))
        parts.append(clean)
        line += len(LINE_BREAK.findall(clean)) + 1
    return read_program("\n".join(parts), path, cells=cells, source=text, beside=beside, argv=argv)


def clean_cell(text: str) -> str:
    r"""Return a cell as Python: what only IPython understands becomes `pass` or a comment, line for line.

    >>> clean_cell("!pip install trl\nx = !ls\ny = 1")
    'pass\nx = None\ny = 1'
    """
    if is_python(text):
        return text
    indent = indent_of(text)
    lines = [line.removeprefix(indent) for line in LINE_BREAK.split(text)]
    first = next((line.strip() for line in lines if line.strip()), "")
    magic = re.match(r"%%\s*(\w+)", first)
    if magic and magic[1] not in PYTHON_CELLS:
        return "\n".join("" for _ in lines)
    inside = _inside_texts(lines)
    result: list[str] = []
    for begin, end in _logical_lines(lines):
        block = lines[begin : end + 1]
        result += block if begin in inside else _clean(block)
    return "\n".join(result)


def indent_of(text: str) -> str:
    r"""Return what IPython takes from each line of a cell: the indentation of the first, if all have it.

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


def _load(text: str, path: str) -> dict[str, Any]:
    fix = "save the notebook again, or name the script"
    try:
        notebook = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise UsageError(
            f"the notebook is no JSON: {error.msg}", where=Spot(path, error.lineno, error.colno), fix=fix
        ) from None
    except (RecursionError, ValueError):
        raise UsageError(
            "the notebook is nested too deeply, or holds a number too long to read", where=path, fix=fix
        ) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise UsageError("the file is JSON, but no notebook: it has no cells", where=path, fix=fix)
    return notebook


def _is_python(notebook: dict[str, Any]) -> bool:
    """Tell whether the kernel is Python's; a notebook that does not say is."""
    metadata = notebook.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    names = []
    for part, key in (("kernelspec", "language"), ("kernelspec", "name"), ("language_info", "name")):
        section = said.get(part)
        names.append(section.get(key) if isinstance(section, dict) else None)
    known = [name.lower() for name in names if isinstance(name, str) and name]
    foreign = ("julia", "ir", "r", "rust", "scala", "javascript", "typescript", "bash", "c++", "sql")
    return not any(name.split("-")[0] in foreign for name in known)
