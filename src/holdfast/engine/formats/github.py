"""Findings as GitHub's workflow commands, which it shows beside the lines of a pull request.

Source: GitHub Docs, "Workflow commands for GitHub Actions", and the escapes of `actions/toolkit` (`command.ts`).
"""

from collections.abc import Iterator
from typing import Final

from holdfast.results.check import CheckResult, ReportedFinding

COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}
IN_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
IN_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render_github(result: CheckResult) -> Iterator[str]:
    """Yield a line for each finding of an answer of `check`.

    A finding in a notebook names its cell in the message: GitHub counts the lines of the file.
    """
    return map(render_annotation, result.findings)


def render_annotation(finding: ReportedFinding) -> str:
    """Return the workflow command for one finding: `::error file=a%2Cb.py,line=3,…,title=ARG101::50%25 of it`."""
    fix = f" Fix: {finding.fix.title}." if finding.fix else ""
    message = f"{_where(finding)}{finding.message}{fix}"
    values = {"file": finding.overrides or finding.path, **_lines(finding), "title": finding.code}
    properties = ",".join(f"{name}={str(value).translate(IN_PROPERTY)}" for name, value in values.items())
    return f"::{COMMANDS[finding.severity]} {properties}::{message.translate(IN_MESSAGE)}"


def render_line(text: str) -> str:
    r"""Return a line beside the annotations that GitHub takes for no command, whatever a file is called.

    >>> render_line("a\n::error::b.py: 2 rules skipped"), render_line("1 error in 1 file")
    ('a : :error: :b.py: 2 rules skipped', '1 error in 1 file')
    """
    return " ".join(text.splitlines()).replace("::", ": :").replace("##[", "## [")


def _where(finding: ReportedFinding) -> str:
    if finding.origin:
        return f"{finding.path} ({finding.origin}): "
    return f"cell {finding.cell}, line {finding.line}: " if finding.cell else ""


def _lines(finding: ReportedFinding) -> dict[str, int]:
    """Return the place; columns only within one line, since GitHub takes none otherwise. Its ends are inclusive."""
    line, last = finding.line, finding.end_line
    if line is None or finding.cell:
        return {}
    region = {"line": line, "endLine": last or line}
    if last in (None, line) and finding.column is not None:
        end = finding.end_column
        region |= {"col": finding.column} | ({"endColumn": max(end - 1, finding.column)} if end else {})
    return region
