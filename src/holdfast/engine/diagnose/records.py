"""Records that were printed over several lines, as `pprint` and `json.dumps(…, indent=2)` do: one step's metrics, put together again."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from holdfast.core.diagnose.log import Line

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
    if not _is_part(line.text):
        return line, line.text
    record = [*_up_to("{", line, above), line, *reversed(_up_to("}", line, below))]
    if "{" not in record[0].text or "}" not in record[-1].text:
        return line, line.text
    return record[0], " ".join(each.text.strip() for each in record)


def _is_part(text: str) -> bool:
    """True if a line is one of several of a record: it has one of the braces, or an item and no brace."""
    has_begin, has_end = "{" in text, "}" in text
    return has_begin != has_end or (not has_begin and ITEM.match(text) is not None)


def _up_to(brace: str, line: Line, others: Iterable[Line]) -> list[Line]:
    """Return the items from a line that has no such brace up to one that has it, that one first; none where something else stands between."""
    found: list[Line] = []
    for each in islice(others, MOST_LINES) if brace not in line.text else ():
        if not ITEM.match(each.text):
            return []
        found.insert(0, each)
        if brace in each.text:
            return found
    return []
