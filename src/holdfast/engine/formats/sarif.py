"""Findings as SARIF 2.1.0, which code scanning and editors read.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", of 27 March 2020.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from holdfast.core.check.finding import Rule
from holdfast.core.text.places import LINE_BREAK
from holdfast.engine.explain.rules import render_page
from holdfast.results.check import CheckResult, ReportedFinding, ReportedFix, SuppressedFinding, TargetResult

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
STANDARD_INPUT: Final = "stdin"
Json = dict[str, Any]


def render_sarif(result: CheckResult, rules: Iterable[Rule], texts: Mapping[str, str], *, version: str) -> Json:
    """Return an answer of `check` as a SARIF log.

    A finding in a notebook stands in its file without a line, since lines are counted in cells: the cell is a logical
    location, and the message names it; likewise one about an override of a job file. What a comment suppresses is a suppressed
    result; a rule that could not be run is a notification of the run.

    Args:
        result: Of `check`.
        rules: Every rule that there is.
        texts: Text of the files by path, to count columns in UTF-16 code units.
        version: Of holdfast.
    """
    found = [finding for target in result.targets for finding in _all_findings(target)]
    codes = list(dict.fromkeys(finding.code for finding in found))
    known = {rule.code: rule for rule in rules}
    driver = {
        "name": "holdfast",
        "version": version,
        "semanticVersion": version,
        "rules": [_describe(code, known.get(code)) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": list(_notifications(result))}],
        "results": [_result(finding, codes.index(finding.code), texts) for finding in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _all_findings(target: TargetResult) -> Iterator[ReportedFinding]:
    yield from target.findings
    yield from target.suppressed


def _describe(code: str, rule: Rule | None) -> Json:
    """Return a rule as SARIF tells of it; what could not be read at all has none."""
    if rule is None:
        text = "The file cannot be read: a syntax error, or a key that is unknown or wrong."
        return {"id": code, "name": "unreadable", "shortDescription": {"text": text}}
    page = render_page(rule)
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why or rule.name},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": LEVELS[rule.severity.value]},
        "properties": {"tags": [code[:3]]},
    }


def _notifications(result: CheckResult) -> Iterator[Json]:
    for target in result.targets:
        if target.skipped:
            reasons = "; ".join(f"{skip.code}: {skip.because}" for skip in target.skipped)
            yield _note(target.path, f"{len(target.skipped)} rules not checked. {reasons}")
    for passed in result.passed_over:
        yield _note(passed.path, f"not checked: {passed.because}")


def _note(path: str, text: str) -> Json:
    location = {"physicalLocation": {"artifactLocation": _artifact(path)}}
    return {"level": "note", "message": {"text": text}, "locations": [location]}


def _result(finding: ReportedFinding, index: int, texts: Mapping[str, str]) -> Json:
    cell = finding.cell
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": _where(finding) + finding.message},
        "locations": [_location(finding, texts)],
        "suppressions": [],
    }
    if isinstance(finding, SuppressedFinding):
        reason = finding.suppressed_by.reason
        result["suppressions"] = [{"kind": "inSource", **({"justification": reason} if reason else {})}]
    if finding.fix and not finding.fix.by_hand and not cell:
        result["fixes"] = [_fix(finding.fix, finding.path, texts)]
    return result


def _where(finding: ReportedFinding) -> str:
    """Return the place that a message has to name, since a region of a file does not."""
    if finding.origin:
        return f"{finding.path} ({finding.origin}): "
    return f"Cell {finding.cell}, line {finding.line}: " if finding.cell else ""


def _location(finding: ReportedFinding, texts: Mapping[str, str]) -> Json:
    path, cell = finding.overrides or finding.path, finding.cell
    physical: Json = {"artifactLocation": _artifact(path)}
    location: Json = {"physicalLocation": physical}
    if cell:
        location["logicalLocations"] = [{"name": f"cell {cell}", "kind": "module"}]
    elif finding.origin:
        location["logicalLocations"] = [{"name": finding.path, "kind": "parameter"}]
    elif finding.line:
        start = (finding.line, finding.column)
        physical["region"] = _region(start, (finding.end_line, finding.end_column), texts.get(path, ""))
    return location


def _fix(fix: ReportedFix, finding: str, texts: Mapping[str, str]) -> Json:
    """Return a fix, given the file of its finding."""
    replacements: dict[str, list[Json]] = {}
    for edit in fix.edits or ():
        path = edit.path or finding
        region = _region(edit.start, edit.end, texts.get(path, ""))
        replacements.setdefault(path, []).append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    title = fix.title if fix.safe else f"{fix.title} (unsafe: it may change what the program does)"
    changes = [{"artifactLocation": _artifact(path), "replacements": each} for path, each in replacements.items()]
    return {"description": {"text": title}, "artifactChanges": changes}


def _region(start: Iterable[int | None], end: Iterable[int | None], text: str) -> Json:
    """Return a range of characters as a region, in UTF-16 code units; ends are exclusive in both."""
    lines = LINE_BREAK.split(text)
    (line, column), (end_line, end_column) = start, end
    region = {
        "startLine": line,
        "startColumn": _column(lines, line, column),
        "endLine": end_line,
        "endColumn": _column(lines, end_line or line, end_column),
    }
    return {name: value for name, value in region.items() if value is not None}


def _column(lines: list[str], line: int | None, column: int | None) -> int | None:
    if column is None or line is None or line > len(lines):
        return column
    before = lines[line - 1][: column - 1]
    return column + sum(ord(character) > 0xFFFF for character in before)  # noqa: PLR2004 - outside the first plane: two


def _artifact(path: str) -> Json:
    """Return a file as SARIF names it: a relative URI, or an absolute one."""
    if path == "-":
        return {"uri": STANDARD_INPUT}
    uri = quote(path.replace("\\", "/"), errors="surrogateescape")
    return {"uri": f"file://{uri}" if uri.startswith("/") else uri.removeprefix("./")}
