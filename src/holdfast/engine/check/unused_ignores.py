"""Finding the comments that suppress nothing, and the edits that remove their unused parts."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.check.finding import Finding
from holdfast.core.check.ignore import UnusedIgnore
from holdfast.core.job.document import Document
from holdfast.core.text.places import TextEdit
from holdfast.engine.check.suppress import ALL, COMMENT, Ignore, find_ignores, lines_of

CODES: Final = re.compile(r"\s*(?P<codes>[A-Z]{3}\d{3}(?:[,\s]+[A-Z]{3}\d{3})*)(?=\W|$)")
"""Codes that stand behind a comment, where its brackets should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreUsage:
    """What was found out about a file.

    Attributes:
        known: Codes of all rules.
        undecided: Codes of rules that were not run, or were skipped: what they would have found is not known.
        passed: The findings that comments suppress, each with the comment.
    """

    known: Collection[str]
    undecided: Collection[str]
    passed: Sequence[tuple[Finding, Ignore]]

    def unused(self, codes: Iterable[str], ignore: Ignore) -> tuple[str, ...]:
        """Return the codes of an ignore that surely suppress nothing."""
        used = {finding.rule.code for finding, by in self.passed if by == ignore and finding.rule}
        return tuple(code for code in codes if not any(each.startswith(code) for each in (*used, *self.undecided)))

    def unknown(self, codes: Iterable[str]) -> tuple[str, ...]:
        """Return the codes with which no rule's code begins."""
        return tuple(code for code in codes if not any(each.startswith(code) for each in self.known))


def unused_ignores(documents: Iterable[Document], decided: IgnoreUsage) -> Iterator[UnusedIgnore]:
    """Yield the comments that are of no use, or of less than they say.

    Args:
        documents: What was checked; those of one path are of one text.
        decided: What was found out about it.
    """
    for document in {document.path: document for document in documents}.values():
        for ignore in find_ignores(document):
            found = _judged(ignore, decided, lines_of(document, ignore.place.cell))
            if found:
                yield found


def _judged(ignore: Ignore, decided: IgnoreUsage, lines: Sequence[str]) -> UnusedIgnore | None:
    """Return the unused part of an ignore comment; None if all of it is used, or may be."""
    row, start, end = _span(ignore)
    text = lines[row - 1][start - 1 : end - 1]
    if unbracketed := _unbracketed(ignore, decided, text):
        return unbracketed
    unknown = decided.unknown(ignore.codes)
    unused = decided.unused((code for code in ignore.codes if code not in unknown), ignore)
    of_no_use = (*unknown, *unused)
    kept = [code for code in ignore.codes if code not in of_no_use]
    idle = UnusedIgnore(place=ignore.place, text=text, unknown=unknown, unused=tuple(filter(None, unused)))
    if not kept:
        return replace(idle, edits=(_without(ignore, lines),))
    remedy = f"remove {', '.join(of_no_use)}"
    return replace(idle, remedy=remedy, edits=(_with_codes(ignore, kept, text),)) if of_no_use else None


def _unbracketed(ignore: Ignore, decided: IgnoreUsage, text: str) -> UnusedIgnore | None:
    """Return an ignore whose codes stand behind it, without the brackets; None if it has none there."""
    behind = CODES.match(ignore.reason) if ignore.codes == ALL else None
    codes = tuple(re.findall(r"\w+", behind["codes"])) if behind else ()
    if behind is None or decided.unknown(codes):
        return None
    remedy = f"write `ignore[{', '.join(codes)}]`"
    edits = (_bracketed(ignore, codes, behind.end(), text),)
    return UnusedIgnore(place=ignore.place, text=text, meant=codes, remedy=remedy, edits=edits)


def _without(ignore: Ignore, lines: Sequence[str]) -> TextEdit:
    """Return the edit that takes a comment out: with its line where it stands alone, else with the blanks before it."""
    row, start, end = _span(ignore)
    line = lines[row - 1]
    before, after = line[: start - 1], line[end - 1 :]
    if after.strip():
        return _edit(ignore, start, end, "")
    if before.strip() or row == len(lines):
        return _edit(ignore, len(before.rstrip()) + 1, len(line) + 1, "")
    return TextEdit((row, 1), (row + 1, 1), "", ignore.place.cell)


def _with_codes(ignore: Ignore, codes: Iterable[str], text: str) -> TextEdit:
    """Return the edit that leaves some codes alone in the brackets."""
    _, start, _ = _span(ignore)
    found = COMMENT.search(text)
    first, last = found.span("codes") if found else (0, 0)
    return _edit(ignore, start + first, start + last, ", ".join(codes))


def _bracketed(ignore: Ignore, codes: Iterable[str], length: int, text: str) -> TextEdit:
    """Return the edit that puts into brackets the codes which are the first characters of a reason, as many as are given."""
    _, start, _ = _span(ignore)
    at = text.index(ignore.reason)
    return _edit(ignore, start + len(text[:at].rstrip()), start + at + length, f"[{', '.join(codes)}]")


def _span(ignore: Ignore) -> tuple[int, int, int]:
    """Return the line of a comment, and the columns where it begins and ends."""
    return ignore.place.line or 0, ignore.place.column or 0, ignore.place.end_column or 0


def _edit(ignore: Ignore, start: int, end: int, text: str) -> TextEdit:
    row = ignore.place.line or 0
    return TextEdit((row, start), (row, end), text, ignore.place.cell)
