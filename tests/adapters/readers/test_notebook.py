"""What a notebook says: its code cells, read as one program."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.notebook import read_notebook
from holdfast.adapters.readers.script.edits import place_edits
from holdfast.adapters.readers.script.notebook_cells import clean_cell
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Remove, Rename
from holdfast.core.text.places import apply_text_edits


def notebook(*cells: str | list[str], **extra: Any) -> str:
    made = [{"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# Title"}, *made], "nbformat": 4, **extra})


def read(*cells: str | list[str], **extra: Any) -> Document:
    (document,) = read_notebook(notebook(*cells, **extra), "train.ipynb", beside=None)
    return document


def test_the_cells_are_one_program_and_places_count_in_their_cell() -> None:
    job = read("!pip install trl\nfrom trl import SFTConfig", ["LR = 1\n", "\n", "SFTConfig(x=LR,\n", "  y=2)"])
    (call,) = job.calls
    assert call.arguments == {"x": 1, "y": 2}
    assert (call.place.cell, call.place.line, call.place.end_line) == (3, 3, 4)
    assert (job.imports[0].place.cell, job.imports[0].place.line) == (2, 2)
    place = job.key_places["calls", 0, "y"]
    assert (place.cell, place.line, place.column) == (3, 4, 3)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("!pip install \\\n  trl \\\n  peft\nx = 1", "pass\n\n\nx = 1"),
        ("%pip install trl", "pass"),
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("%%bash\npip install trl\nls", "\n\n"),
        ("%%capture\nimport trl", "\nimport trl"),
        ("%%time\nx = 1", "\nx = 1"),
        ("if x:\n    !ls\n    y = 1", "if x:\n    pass\n    y = 1"),
        ("files = !ls *.txt", "files = None"),
        ("out = %sql select", "out = None"),
        ("%time trainer.train()", "trainer.train()"),
        ("trainer?", "pass"),
        ("?trainer", "pass"),
        ("pip install -q trl==0.9.6", "pass"),
        ("x = 5 % 2\ny = a != b", "x = 5 % 2\ny = a != b"),
        ("x = (5\n% 2)", "x = (5\n% 2)"),
        ('text = """\n!not a command\n%nor a magic\n"""', 'text = """\n!not a command\n%nor a magic\n"""'),
        ("ls = 1\nls += 2\ncat = ls", "ls = 1\nls += 2\ncat = ls"),
        ("await f()", "await f()"),
        ("# !pip\n", "# !pip\n"),
    ],
)
def test_what_only_ipython_understands_is_taken_out_line_for_line(cell: str, expected: str) -> None:
    assert clean_cell(cell) == expected


def test_an_old_notebook_is_read() -> None:
    text = json.dumps(
        {
            "worksheets": [{"cells": [{"cell_type": "code", "input": ["import trl\n"], "language": "python"}]}],
            "nbformat": 3,
        }
    )
    assert read_notebook(text, "x.ipynb", beside=None)[0].imports[0].module == "trl"


@pytest.mark.parametrize("language", ["julia", "R"])
def test_a_notebook_in_another_language_says_nothing(language: str) -> None:
    job = read("using Flux; x <- 1", metadata={"kernelspec": {"language": language, "name": "x"}})
    assert (job.calls, job.imports, job.values) == ((), (), {})


def test_unsloth_in_another_cell_counts() -> None:
    job = read("from trl import SFTConfig\nSFTConfig(seed=1)", "import unsloth")
    assert job.calls[0].guard.because


def test_a_syntax_error_is_said_with_its_cell() -> None:
    with pytest.raises(UsageError) as caught:
        read("x = 1", "y = 1\nz = (")
    assert str(caught.value.where) == "train.ipynb, cell 3:2:5"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        "{}",
        '{"cells": {}}',
        '{"cells": null, "worksheets": 1}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="notebook"):
        read_notebook(text, "x.ipynb", beside=None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "worksheets", "cell_type", "source", "input", "metadata", "kernelspec", "language"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        read_notebook(json.dumps(value), "x.ipynb", beside=None)
    except UsageError as error:
        assert error.what  # noqa: PT017 - either way is right


@given(st.text(alphabet="x=!%?\n\\ \"'#()pipinstall", max_size=60))
def test_a_clean_cell_has_as_many_lines(cell: str) -> None:
    assert clean_cell(cell).count("\n") == cell.count("\n")


def test_a_cell_that_is_indented_as_a_whole_is_read_as_ipython_does() -> None:
    """It takes the first line's indentation from all lines; places and fixes count in the cell as it is written."""
    cell = "    from trl import SFTConfig\n    args = SFTConfig('out',\n                     max_seq_length=512)\n"
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell}]})

    (document,) = read_notebook(text, "n.ipynb", beside=None)
    (edit,) = place_edits(document, [Rename("calls.0.max_seq_length", "max_length")])
    (gone,) = place_edits(document, [Remove("calls.0.max_seq_length")])

    assert (edit.start, edit.end, edit.cell) == ((3, 22), (3, 36), 1)
    assert apply_text_edits(cell, [gone]) == "    from trl import SFTConfig\n    args = SFTConfig('out')\n"
