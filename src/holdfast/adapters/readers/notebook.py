"""Jupyter notebooks: their code cells joined to one program, with what only IPython understands taken out.

Covered: nbformat 3 and 4; magics, shell lines, help lines, `await` outside of functions; places count in their cell.
Not covered: kernels of other languages (an empty Document); what shell lines and `%run` do to the program.
"""

import json
from collections.abc import Callable
from typing import Any

from holdfast.adapters.readers.script import read_program
from holdfast.adapters.readers.script.notebook_cells import clean_cell, indent_of
from holdfast.adapters.readers.script.places import Cell
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import code_cells, parse_notebook
from holdfast.core.text.places import LINE_BREAK


def read_notebook(text: str, path: str, *, beside: Callable[[str], str | None] | None) -> tuple[Document, ...]:
    """Return the Documents of a notebook, like `read_script`.

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
    return read_program("\n".join(parts), path, cells=cells, source=text, beside=beside)


def _load(text: str, path: str) -> dict[str, Any]:
    fix = "save the notebook again, or name the script"
    try:
        notebook = parse_notebook(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"the notebook is not valid JSON: {error.msg}", where=Spot(path, error.lineno, error.colno), fix=fix
        ) from None
    except ValueError:
        raise UsageError(
            "the notebook is nested too deeply, or holds a number too long to read", where=path, fix=fix
        ) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise UsageError("the file is JSON, but no notebook: it has no cells", where=path, fix=fix)
    return notebook


def _is_python(notebook: dict[str, Any]) -> bool:
    """True if the kernel is Python's; a notebook that does not say is."""
    metadata = notebook.get("metadata")
    entries = metadata if isinstance(metadata, dict) else {}
    names = []
    for part, key in (("kernelspec", "language"), ("kernelspec", "name"), ("language_info", "name")):
        section = entries.get(part)
        names.append(section.get(key) if isinstance(section, dict) else None)
    known = [name.lower() for name in names if isinstance(name, str) and name]
    foreign = ("julia", "ir", "r", "rust", "scala", "javascript", "typescript", "bash", "c++", "sql")
    return not any(name.split("-")[0] in foreign for name in known)
