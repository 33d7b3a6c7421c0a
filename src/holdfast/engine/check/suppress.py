"""Comments that suppress findings: `# holdfast: ignore[ARG101] why it is right here`.

Such a comment speaks of the statement whose first line it ends, of the line that it ends, or, on a line of its own,
of the line or statement below. `ignore-file` speaks of the whole file. Codes are given by their beginnings, as to
`--ignore`; without brackets, all are meant.
"""

import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Final

from holdfast.core.check.finding import Finding
from holdfast.core.job.document import Document, leaves
from holdfast.core.job.notebook import is_notebook, read_cells
from holdfast.core.text.places import LINE_BREAK, Place

MARK: Final = "holdfast:"
COMMENT: Final = re.compile(
    r"#\s*holdfast:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[^\]#]*)\])?(?P<reason>\s[^#]*)?(?=#|$)"
)
# IPython's own lines are no Python; where they stand, nothing can be found.
MAGIC: Final = re.compile(r"(?m)^[ \t]*[%!?][^\r\n]*")
BLANKS: Final = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
ALL: Final = ("",)
LAST_LINE: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """A comment that suppresses findings.

    Attributes:
        codes: Beginnings of rule codes.
        reason: Why, in the user's words; may be empty.
        place: The comment.
        first: The first line that it speaks of.
        last: The last line that it speaks of.
        cell: Of a notebook, the cell it speaks of; None for the whole file.
    """

    codes: tuple[str, ...]
    reason: str
    place: Place
    first: int
    last: int
    cell: int | None = None

    @property
    def line(self) -> int:
        """The line in which the comment stands."""
        return self.place.line or 0

    def covers(self, code: str, place: Place) -> bool:
        """True if a finding is suppressed."""
        here = self.cell in (None, place.cell) and self.first <= (place.line or self.first) <= self.last
        return here and code.startswith(self.codes)


def split_suppressed(
    findings: Iterable[Finding], documents: Iterable[Document]
) -> tuple[list[Finding], list[tuple[Finding, Ignore]]]:
    """Return the findings that stand, and those that a comment of their file suppresses, each with the comment.

    A finding without a line, such as a missing header, is suppressed by `ignore-file` alone.

    Args:
        findings: What was found.
        documents: What was checked; those of one path are of one text.
    """
    texts = {document.path: document for document in documents}
    ignores = {path: find_ignores(document) for path, document in texts.items()}
    standing: list[Finding] = []
    passed: list[tuple[Finding, Ignore]] = []
    for finding in findings:
        known = ignores.get(finding.place.path if finding.place else "", ())
        ignore = next((one for one in known if _suppresses(one, finding)), None)
        if ignore:
            passed.append((finding, ignore))
        else:
            standing.append(finding)
    return standing, passed


def find_ignores(document: Document) -> tuple[Ignore, ...]:
    """Return the ignore comments of a document."""
    if MARK not in document.text:
        return ()
    if document.kind == "job":
        return tuple(_in_yaml(document))
    if document.kind == "command":
        return tuple(_in_shell(document))
    if is_notebook(document.path):
        cells = read_cells(document.text).items()
        return tuple(
            ignore for number, text in cells for ignore in _in_python(document.path, MAGIC.sub("", text), number)
        )
    return tuple(_in_python(document.path, document.text, None))


def lines_of(document: Document, cell: int | None) -> list[str]:
    """Return the lines of a document, or of one of a notebook's cells."""
    return LINE_BREAK.split(document.text if cell is None else read_cells(document.text)[cell])


def _suppresses(ignore: Ignore, finding: Finding) -> bool:
    if not finding.rule:
        return False
    place = finding.place or Place("")
    whole_file = ignore.last == LAST_LINE
    return (whole_file or place.line is not None) and ignore.covers(finding.rule.code, place)


def _in_python(path: str, text: str, cell: int | None) -> Iterator[Ignore]:
    """Yield the ignores of Python source; those before the first error where it is none."""
    if MARK not in text:
        return
    lines, tokens = LINE_BREAK.split(text), list(_tokens(text))
    statements = _statements(tokens)
    for token in tokens:
        found = COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if found:
            row, column = token.start
            alone = not lines[row - 1][:column].strip()
            yield _ignore(found, _place(path, row, found, column, cell), lines, statements, alone=alone)


def _statements(tokens: Iterable[tokenize.TokenInfo]) -> dict[int, int]:
    """Return the last line of each statement, by its first."""
    statements: dict[int, int] = {}
    first: int | None = None
    for token in tokens:
        row, _ = token.start
        if token.type == tokenize.NEWLINE:
            statements[first or row] = row
            first = None
        elif token.type != tokenize.COMMENT:
            first = first or row
    return statements


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of Python source that stand for something, up to the first error."""
    try:
        tokens = tokenize.generate_tokens(StringIO(text, newline=None).readline)
        yield from (token for token in tokens if token.type not in BLANKS)
    except (tokenize.TokenError, SyntaxError):
        return


def _in_yaml(document: Document) -> Iterator[Ignore]:
    """Yield the ignores of a job file: comments, and no text that looks like one."""
    lines = LINE_BREAK.split(document.text)
    values = [document.places[key] for key, _ in leaves(document.values) if key in document.places]
    for row, line in enumerate(lines, start=1):
        found = COMMENT.search(line)
        if found and not any(_holds(place, row, found.start() + 1) for place in values):
            alone = not line[: found.start()].strip()
            if alone or line[found.start() - 1] in " \t":
                yield _ignore(found, _place(document.path, row, found), lines, {}, alone=alone)


def _in_shell(document: Document) -> Iterator[Ignore]:
    """Yield the ignores of a shell script or a Makefile; a command goes on behind a backslash at the end of a line."""
    lines = LINE_BREAK.split(document.text)
    statements: dict[int, int] = {}
    first = 1
    for row, line in enumerate(lines, start=1):
        statements[first] = row
        first = first if line.endswith("\\") else row + 1
    for row, line in enumerate(lines, start=1):
        found = COMMENT.search(line)
        before = line[: found.start()] if found else ""
        if found and not before[-1:].strip() and before.count("'") % 2 == before.count('"') % 2 == 0:
            place = _place(document.path, row, found)
            yield _ignore(found, place, lines, statements, alone=not before.strip())


def _holds(place: Place, line: int, column: int) -> bool:
    start = (place.line or 0, place.column or 0)
    end = (place.end_line or 0, place.end_column or 0)
    return start <= (line, column) < end


def _place(path: str, row: int, match: re.Match[str], column: int = 0, cell: int | None = None) -> Place:
    """Return where a comment stands that was found in a line, or in what begins at a column of it, counted from 0."""
    return Place(path, row, column + match.start() + 1, row, column + match.end() + 1, cell)


def _ignore(match: re.Match[str], place: Place, lines: list[str], statements: dict[int, int], *, alone: bool) -> Ignore:
    row, cell = place.line or 0, place.cell
    if match["file"]:
        first, last, cell = 0, LAST_LINE, None
    else:
        first = _next_code(lines, row) if alone else row
        last = statements.get(first, first)
    codes = ALL if match["codes"] is None else tuple(code.strip() for code in match["codes"].split(",") if code.strip())
    return Ignore(codes=codes, reason=(match["reason"] or "").strip(), place=place, first=first, last=last, cell=cell)


def _next_code(lines: list[str], row: int) -> int:
    """Return the line after a comment that is no comment itself."""
    while row < len(lines) and lines[row].lstrip().startswith("#"):
        row += 1
    return row + 1
