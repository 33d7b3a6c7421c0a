"""The cells of code in a notebook, of format 3 or 4, as far as they are what the format says."""

from functools import lru_cache
from typing import Any

from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.text.json_text import parse_json


def is_notebook(path: str) -> bool:
    """Tell by its name whether a file is a notebook."""
    return target_kind(path) is TargetKind.NOTEBOOK


@lru_cache(maxsize=1)
def parse_notebook(text: str) -> Any:
    """Return a notebook's JSON. It is shared, so it must not be changed: reading one notebook parses it several times in a row.

    Raises:
        ValueError: It is not valid JSON, see `parse_json`.
    """
    return parse_json(text.removeprefix("\ufeff"))


def read_cells(text: str) -> dict[int, str]:
    """Return the sources of a notebook's cells of code, by number, counted from 1 over all cells; none if it is none.

    >>> read_cells('{"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": ["1;", "2"]}]}')
    {2: '1;2'}
    """
    try:
        return code_cells(parse_notebook(text))
    except ValueError:
        return {}


def code_cells(notebook: Any) -> dict[int, str]:
    """Return the same of a notebook's JSON."""
    sources = {number: _source(cell) for number, cell in enumerate(_cells(notebook), 1)}
    return {number: source for number, source in sources.items() if source is not None}


def _cells(notebook: Any) -> list[Any]:
    """Return all cells; those of format 3 lie in worksheets."""
    known: dict[str, Any] = notebook if isinstance(notebook, dict) else {}
    cells, sheets = known.get("cells"), known.get("worksheets")
    if isinstance(cells, list):
        return cells
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
    return [cell for each in lists if isinstance(each, list) for cell in each]


def _source(cell: Any) -> str | None:
    """Return a cell's text; None if it holds no code."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else None
