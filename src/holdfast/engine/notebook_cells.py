"""The cells of a notebook, as far as texts are concerned."""

import json
from typing import Any


def notebook_cells(text: str) -> list[str]:
    """Return the source of each cell of a notebook, empty for those that hold no code; none where it is no notebook.

    >>> notebook_cells('{"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": ["1;", "2"]}]}')
    ['', '1;2']
    """
    try:
        cells = json.loads(text)["cells"]
        return [_source(cell) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _source(cell: Any) -> str:
    source = cell["source"] if cell["cell_type"] == "code" else ""
    return source if isinstance(source, str) else "".join(source)
