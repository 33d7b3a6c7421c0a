"""A fix in a notebook changes the lines that it changes, and nothing else of the file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.notebook_edits import apply_notebook_edits, source_lines
from holdfast.core.text.places import TextEdit

SOURCES = ["a = 1\n", "b = 'é \"quoted\"'\n", "c = 3"]


def notebook(*sources: Any, indent: int | None = 1, **options: Any) -> str:
    cells = [{"cell_type": "code", "metadata": {"a": "source"}, "outputs": ["x"], "source": each} for each in sources]
    return json.dumps({"nbformat": 4, "cells": cells, "metadata": {}}, indent=indent, **options) + "\n"


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_only_the_changed_line_is_written_anew(indent: int | None, ascii_only: bool) -> None:
    """The rest of the JSON stays to the letter, whatever its layout, escapes and all."""
    text = notebook("x = 1", SOURCES, indent=indent, ensure_ascii=ascii_only)
    edited = apply_notebook_edits(text, [TextEdit((1, 5), (1, 6), "22", cell=2)])

    assert edited == text.replace("a = 1", "a = 22")


def test_lines_come_and_go() -> None:
    """New lines get entries of their own, laid out as the others are; those that go leave none."""
    text = notebook(SOURCES)
    more = apply_notebook_edits(text, [TextEdit((3, 6), (3, 6), "\nd = 4", cell=1)])
    fewer = apply_notebook_edits(text, [TextEdit((1, 6), (3, 1), "\n", cell=1)])

    assert more == notebook([*SOURCES[:2], "c = 3\n", "d = 4"])
    assert fewer == notebook([SOURCES[0], SOURCES[2]])


def test_a_source_that_is_one_text_stays_one() -> None:
    """Some tools write a cell's lines as a single text."""
    text = notebook("".join(SOURCES))
    assert apply_notebook_edits(text, [TextEdit((1, 5), (1, 6), "2", cell=1)]) == text.replace("a = 1", "a = 2")


def test_several_cells_at_once() -> None:
    """Edits of all cells are made together."""
    text = notebook(["a = 1"], ["b = 1"])
    edits = [TextEdit((1, 5), (1, 6), "2", cell=cell) for cell in (2, 1)]

    assert apply_notebook_edits(text, edits) == notebook(["a = 2"], ["b = 2"])


def test_a_cell_that_is_not_there_has_no_lines() -> None:
    """No cell, no source."""
    assert source_lines(notebook("a"), 2) == []


@given(
    st.lists(st.lists(st.text(max_size=6), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(0, 2),
    st.text(max_size=5),
)
def test_what_is_written_is_what_was_meant(cells: list[list[str]], which: int, new: str) -> None:
    """Whatever stands in the cells, the edited notebook is JSON, with the edited source in that cell, and the others as they were."""
    cells = [[line.replace("\r", "").replace("\n", "") + "\n" for line in cell] for cell in cells]
    number = which % len(cells)
    edited = json.loads(apply_notebook_edits(notebook(*cells), [TextEdit((1, 1), (1, 1), new, cell=number + 1)]))
    sources = ["".join(cell["source"]) for cell in edited["cells"]]

    assert sources == ["".join(cell) if at != number else new + "".join(cell) for at, cell in enumerate(cells)]
