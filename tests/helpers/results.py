"""Results made from what a test cares about; the rest is filled in."""

from typing import Any

from msgspec import convert, structs

from holdfast.results.check import CheckResult, ReportedFinding, SuppressedFinding, TargetResult
from holdfast.results.rehearse import RehearseResult

PLACE = {"line": 2, "column": 5, "end_line": 2, "end_column": 19}
FINDING: dict[str, Any] = {
    "code": "ARG101",
    "name": "renamed-argument",
    "severity": "error",
    "message": "renamed",
    "key": "",
    "path": "train.py",
    **PLACE,
    "why": "",
    "source": "",
    "fix": None,
}
FAILURE: dict[str, Any] = {
    "class": "user-code-error",
    "title": "The fault is in the user's own code",
    "stage": "step",
    "confidence": 0.9,
    "evidence": [],
    "cause": "",
    "fix": "",
    **dict.fromkeys(("where", "function", "role", "code", "key", "over", "blamed_because")),
    "refuses": True,
    "blame": "unknown",
    "prevented_by": [],
}
TARGET: dict[str, Any] = {
    "path": "train.py",
    "kind": "script",
    "method": None,
    "resolved": {},
    "because": "",
    "skipped": [],
    "suppressed": [],
}


def finding(**fields: Any) -> ReportedFinding:
    """Return a finding."""
    return convert({**FINDING, **fields}, ReportedFinding)


def suppressed(**by: Any) -> SuppressedFinding:
    """Return a finding that a comment suppresses."""
    return convert({**FINDING, "suppressed_by": by}, SuppressedFinding)


def target(*findings: ReportedFinding, **fields: Any) -> TargetResult:
    """Return the result of one target."""
    made = convert({**TARGET, "findings": [], **fields}, TargetResult)
    return structs.replace(made, findings=list(findings))


def checked(*targets: TargetResult, **fields: Any) -> CheckResult:
    """Return the result of a check."""
    plain = {"schema": 1, "verb": "check", "verdict": "fail", "elapsed_s": 0.1, "others": 0, "passed_over": []}
    return structs.replace(convert({**plain, "targets": [], **fields}, CheckResult), targets=list(targets))


def rehearsed(*failures: dict[str, Any], **fields: Any) -> RehearseResult:
    """Return the result of a rehearsal that failed so."""
    plain = {"schema": 1, "verb": "rehearse", "verdict": "fail", "path": "train.py", "elapsed_s": 9.0, "failure": None}
    lists: dict[str, list[Any]] = {name: [] for name in ("stages", "warnings", "not_rehearsed", "shrunk")}
    rest = {"learnt": {}, "versions": {}, "isolated": False, "failures": [{**FAILURE, **each} for each in failures]}
    return convert({**plain, **lists, **rest, **fields}, RehearseResult)
