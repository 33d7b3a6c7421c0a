"""Findings and skips as people read them, the way a compiler would say it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from click import style

COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


def render_findings(targets: Sequence[Mapping[str, Any]], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the text of what `check` found in its targets: findings, skips, and what it comes to."""
    for target in targets:
        for finding in target["findings"]:
            yield from render_finding(finding, sources.get(finding["path"], ""))
    for target in targets:
        yield from (_skip(skip, target["path"]) for skip in target["skipped"])
    yield _summary(targets)


def render_finding(finding: Mapping[str, Any], source: str) -> Iterator[str]:
    """Yield one finding's lines: where and what, the line itself with the place marked, and what mends it."""
    colour = COLOURS[finding["severity"]]
    place = ":".join(str(part) for part in (finding["path"], finding["line"], finding["column"]) if part is not None)
    grade = "" if finding["severity"] == "error" else f"{finding['severity']}: "
    yield f"{style(place, bold=True)}: {style(finding['code'], fg=colour, bold=True)} {grade}{finding['message']}"
    lines = source.splitlines()
    if finding["line"] and finding["line"] <= len(lines):
        yield from _excerpt(finding, lines[finding["line"] - 1], colour)
    if finding["fix"]:
        yield f"    {style('fix:', fg='green')} {finding['fix']['title']}"


def _excerpt(finding: Mapping[str, Any], line: str, colour: str) -> Iterator[str]:
    number, column = str(finding["line"]), finding["column"] or 1
    ends_here = finding["end_line"] in (None, finding["line"])
    end = (finding["end_column"] if ends_here else None) or len(line) + 1
    yield f"    {style(number + ' |', dim=True)} {line}"
    # A tab before the place stays one, so that the mark stands under it whatever its width.
    margin = "".join("\t" if character == "\t" else " " for character in line[: column - 1])
    mark = style("^" * max(end - column, 1), fg=colour)
    yield f"    {style(' ' * len(number) + ' |', dim=True)} {margin}{mark}"


def _skip(skip: Mapping[str, Any], path: str) -> str:
    needs = f" needs {', '.join(skip['missing'])}" if skip["missing"] else ""
    return f"{path}: {style(skip['code'] + ' skipped', dim=True)}:{needs} ({skip['because']})"


def _summary(targets: Sequence[Mapping[str, Any]]) -> str:
    grades = [finding["severity"] for target in targets for finding in target["findings"]]
    skipped = sum(len(target["skipped"]) for target in targets)
    counts = [_counted(grades.count(grade), grade) for grade in COLOURS if grade in grades]
    colour = next((COLOURS[grade] for grade in COLOURS if grade in grades), "green")
    told = style(", ".join(counts) or "nothing to object to", fg=colour, bold=True)
    where = f" in {_counted(len(targets), 'file')}"
    return f"{told}{where}" + (f"; {_counted(skipped, 'rule')} skipped, which is not a pass" if skipped else "")


def _counted(count: int, what: str) -> str:
    """Return a count with its noun.

    >>> _counted(1, "error"), _counted(2, "file")
    ('1 error', '2 files')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"
