"""How deep in a program its calls are made."""

from holdfast.core.job.calls import Call
from holdfast.core.text.places import LINE_BREAK


def equally_deep(text: str, first: Call, second: Call) -> bool:
    """True if the lines of two calls are indented alike: neither is under a condition that the other is not under.

    In a notebook, whose lines are not those of its text, it is False.
    """
    lines = LINE_BREAK.split(text)
    at = [call.place.line for call in (first, second) if call.place.line and not call.place.cell]
    indents = [len(lines[line - 1]) - len(lines[line - 1].lstrip()) for line in at if line <= len(lines)]
    return len(indents) == 2 and indents[0] == indents[1]  # noqa: PLR2004 - the two calls
