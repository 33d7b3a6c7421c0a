"""Lines of the shell in a notebook, which are no part of its program: what they may make is reported as not made.

Folders are made. Covered: `!` at the beginning of a line, `%run`, cells of `%%bash` and `%%sh`, files of `%%writefile`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import NOTEBOOK, PartRequest
from .children import make_folders, may_make, split_shell

SHELL_CELL = re.compile(r"\s*%%\s*(?:bash|sh)\b.*\n")
FILE_CELL = re.compile(r"\s*(%%\s*(?:writefile|file)\b.*)")
LINE = re.compile(r"^[ \t]*(?:!|%run\s)(.*)", re.MULTILINE)
SHOWN_BY = "lines of the shell are no part of the program; running the notebook shows it"


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Report the lines of a notebook's cells that may make files or modules, and make their folders."""
    for command in commands(part_request) if part_request.script.endswith(NOTEBOOK) else ():
        lines = split_shell(command)
        if not make_folders(lines) and (command.startswith("%") or may_make(command, lines)):
            events.not_run(command, SHOWN_BY, makes=True)


def commands(part_request: PartRequest) -> Iterator[str]:
    """Yield the lines of the shell in a notebook's cells, and the first lines of cells that are files."""
    for source in _sources(Path(part_request.script)):
        if file := FILE_CELL.match(source):
            yield file[1].strip()
        elif SHELL_CELL.match(source):
            yield from filter(None, map(str.strip, source.splitlines()[1:]))
        else:
            yield from (f"python {line[1]}" if "%run" in line[0] else line[1].strip() for line in LINE.finditer(source))


def _sources(path: Path) -> Iterator[str]:
    """Yield the texts of a notebook's cells of code; none of what is no notebook."""
    try:
        notebook: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    cells = notebook.get("cells", ()) if isinstance(notebook, dict) else ()
    for cell in cells if isinstance(cells, list) else ():
        source = cell.get("source", "") if isinstance(cell, dict) and cell.get("cell_type") == "code" else ""
        yield "".join(source) if isinstance(source, list) else str(source)
