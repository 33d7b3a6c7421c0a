"""Records that were printed over several lines, as `pprint` and `json.dumps(…, indent=2)` do: one step's metrics, put together again."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from holdfast.core.log import Line

MOST_LINES: Final = 80
"""Lines of a record that are read, either way."""
ITEM: Final = re.compile(r"""^(?:\s*|[^{}'"]*\{\s*)['"][^'"]+['"]:\s|^[^{}]*\{\s*$|^\s*[{}],?\s*$""")
"""A line within a record: an item, a brace by itself, or words before the brace that opens it."""


def whole_record(line: Line, above: Iterable[Line], below: Iterable[Line]) -> tuple[Line, str]:
    """Return the record that a line is part of, as one text, and the line with which it begins; the line itself where it is whole, or no record.

    Args:
        line: The line.
        above: Those before it of the same writer, the nearest first.
        below: Those behind it.

    >>> first, second = Line(1, "{'loss': 0.0,"), Line(2, " 'reward_std': 0.0}")
    >>> whole_record(second, [first], [])
    (Line(number=1, text="{'loss': 0.0,", path='', rank=None, source='', at_s=None, bar=''), "{'loss': 0.0, 'reward_std': 0.0}")
    """
    has_begin, has_end = "{" in line.text, "}" in line.text
    if has_begin == has_end and (has_begin or not ITEM.match(line.text)):
        return line, line.text
    before = [line] if has_begin else [*_up_to("{", above), line]
    behind = [] if has_end else _up_to("}", below)[::-1]
    if "{" not in before[0].text or (not has_end and not behind):
        return line, line.text
    return before[0], " ".join(each.text.strip() for each in (*before, *behind))


def _up_to(brace: str, lines: Iterable[Line]) -> list[Line]:
    """Return the items up to the line with a brace, that line first; none where something else stands between."""
    found: list[Line] = []
    for line in islice(lines, MOST_LINES):
        if not ITEM.match(line.text):
            return []
        found.insert(0, line)
        if brace in line.text:
            return found
    return []
