"""Making text that others wrote safe for a terminal: it cannot move the cursor, set the title or use the clipboard."""

import re
from typing import Final

ESCAPES: Final = re.compile(
    r"\x1b\[[\d;]*m"  # colours and weights, which stay
    r"|(?P<other>\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings for the terminal itself: titles, the clipboard
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # movements, and all else that begins so
    r"|\x1b.?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
    r"|[\u202a-\u202e\u2066-\u2069]"  # what turns the direction of reading round, so that a name looks like another
    r"|[\ud800-\udc7f\udd00-\udfff])",  # halves of characters, which no output takes; the others stand for bytes of a file's name
    re.DOTALL,
)


LINE_ENDS: Final = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def one_line(text: str) -> str:
    r"""Return a name on one line, so that nothing in it looks like a line of ours.

    >>> one_line("a\nb.py:1:1: ARG101")
    'a\\nb.py:1:1: ARG101'
    """
    return LINE_ENDS.sub(lambda found: repr(found[0])[1:-1], text)


def printable(text: str) -> str:
    r"""Return a text without the control characters and sequences that do more than colour.

    >>> printable("a\x1b]52;c;cm0gLXJm\x07b\x1b[2Jc\x1b[31md\x9b1me\x00")
    'abc\x1b[31md1me'
    """
    return ESCAPES.sub(lambda found: "" if found["other"] else found[0], text)
