"""Choosing which fixes are made together, and showing what they change. Pure: texts in, texts out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from holdfast.core.document import Document, Edit
from holdfast.core.errors import UsageError
from holdfast.core.finding import Finding
from holdfast.core.text import TextEdit

PlaceEdits = Callable[[Document, Iterable[Edit]], tuple[TextEdit, ...]]


@dataclass(frozen=True, slots=True)
class Mended:
    """What becomes of one target.

    Attributes:
        edits: The text edits to make, none of which overlap.
        fixed: The findings that they mend.
    """

    edits: tuple[TextEdit, ...] = ()
    fixed: tuple[Finding, ...] = ()


def mend(findings: Iterable[Finding], place_edits: PlaceEdits, *, unsafe: bool = False) -> Mended:
    """Return the edits of every fix that can be made at once. One that meets another's text waits for the next round.

    Args:
        findings: What was found.
        place_edits: Turns edits of a finding's document into edits of its text; refuses by UsageError.
        unsafe: Whether to make fixes too that may change what the user meant.
    """
    made: dict[TextEdit, None] = {}
    fixed: list[Finding] = []
    for finding in findings:
        if finding.fix is None or finding.document is None or not (finding.fix.safe or unsafe):
            continue
        try:
            edits = place_edits(finding.document, finding.fix.edits)
        except UsageError:
            continue
        others = [each for each in made if each not in edits]
        if edits and not any(_meet(edit, other) for edit in edits for other in others):
            made |= dict.fromkeys(edits)
            fixed.append(finding)
    return Mended(tuple(made), tuple(fixed))


def _meet(edit: TextEdit, other: TextEdit) -> bool:
    """Tell whether two edits touch the same characters, or both write at one place."""
    if edit.cell != other.cell:
        return False
    first, second = sorted((edit, other), key=lambda each: (each.start, each.end))
    return second.start < first.end or first.start == second.start


def render_diff(path: str, before: str, after: str) -> str:
    r"""Return the changes of a file as a unified diff; empty where there are none.

    >>> print(render_diff("train.py", "a = 1\n", "a = 2\n"), end="")
    --- a/train.py
    +++ b/train.py
    @@ -1 +1 @@
    -a = 1
    +a = 2
    """
    lines = unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(_ended(lines))


def _lines(text: str) -> Sequence[str]:
    return text.splitlines(keepends=True)


def _ended(lines: Iterable[str]) -> Iterator[str]:
    r"""Yield a diff's lines, and after one that ends without a line break what every diff says there."""
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
