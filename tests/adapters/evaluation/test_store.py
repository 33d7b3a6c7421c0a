"""What the process that loads a model gets of rows."""

import json
from typing import Any

import pytest

from holdfast.adapters.evaluation.store import work_lines
from holdfast.core.evaluation import Example

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]


@pytest.mark.parametrize(
    ("column", "given"),
    [(TOOLS, TOOLS), (json.dumps(TOOLS), TOOLS), ("a hammer", None), ([], None), (None, None), ('"x"', None)],
)
def test_tools_of_a_row_are_passed_on_as_in_training(column: Any, given: Any) -> None:
    """As a list, or as the JSON of one; a column of that name that holds something else is only a column."""
    example = Example(row=3, prompt=[{"role": "user", "content": "1 plus 1"}], columns={"tools": column})

    (line,) = work_lines("generate", [example])

    assert json.loads(line).get("tools") == given
