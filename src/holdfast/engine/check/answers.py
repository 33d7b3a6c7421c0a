"""The result of `check`, made from what the rules said."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from holdfast.core.check.finding import Finding, Fix, Severity, Skip
from holdfast.core.errors import HoldfastError, LaterPythonError, RuleError, UsageError
from holdfast.core.job.document import Document, Edit
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.text.places import TextEdit
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.check.suppress import Ignore
from holdfast.results.check import (
    CheckResult,
    ReportedEdit,
    ReportedFinding,
    ReportedFix,
    ReportedSkip,
    ReportedSuppression,
    SuppressedFinding,
    TargetResult,
)

UNREADABLE = "SYN001"
"""The code of what could not be read."""
CALLS = "calls."
"""How the keys of calls begin that play no part of a job."""


@dataclass(frozen=True, slots=True)
class _RuleText:
    """What the result says of a finding's rule."""

    code: str = ""
    name: str = ""
    why: str = ""
    source: str = ""


NO_RULE: Final = _RuleText()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTarget:
    """What the rules said of one target.

    Attributes:
        document: What was checked; of several in one file, the first.
        method: The job's method, where it has one.
        resolved: The versions of the libraries that it was checked for.
        because: Where those versions come from, and the date of what is known of them.
        findings: The findings of the rules.
        skips: The rules that could not be run.
        suppressed: Findings that a comment suppresses, each with the comment.
        place_edits: Turns a fix into edits of the document's text.
        can_place: Says whether the edits can be placed, faster than placing them; None if nothing is faster.
        path: The target's own file; fixes of others are left to the user.
        assumed: Options of its command line that are taken to have their defaults.
    """

    document: Document
    method: str | None
    resolved: Mapping[str, str]
    because: str = ""
    findings: tuple[Finding, ...]
    skips: tuple[Skip, ...]
    suppressed: tuple[tuple[Finding, Ignore], ...] = ()
    place_edits: Callable[[Document, Iterable[Edit]], tuple[TextEdit, ...]]
    can_place: Callable[[Document, Iterable[Edit]], bool] | None = None
    path: str = ""
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableTarget:
    """A target among several that could not be read, and why."""

    path: str
    errors: tuple[HoldfastError, ...]


def check_result(
    targets: Sequence[TargetResult], *, elapsed_s: float = 0.0, strict: Collection[str] = ()
) -> CheckResult:
    """Return the results of several targets as one.

    Args:
        targets: The result of each.
        elapsed_s: How long it took.
        strict: Paths of the targets in which a skip fails like an error.
    """
    failed = any(target.fails(strict=target.path in strict) for target in targets)
    return CheckResult(
        verb="check",
        verdict="fail" if failed else "pass",
        elapsed_s=round(elapsed_s, 3),
        targets=targets,
        others=0,
        passed_over=(),
    )


def target_result(one: CheckedTarget | UnreadableTarget, *, edits: bool = True) -> TargetResult:
    """Return the result for one target, or the reason why it could not be read.

    Args:
        one: The target.
        edits: Whether each fix comes with its edits of the text, which take longer to work out than all else.
    """
    return _unread(one) if isinstance(one, UnreadableTarget) else _target(one, edits=edits)


def _unread(target: UnreadableTarget) -> TargetResult:
    """Return a target's errors as findings, so that they stand with those of the others; what is too new is skipped."""
    return TargetResult(
        path=target.path,
        kind="job" if target_kind(target.path) is TargetKind.JOB else "script",
        method=None,
        resolved={},
        because="",
        findings=[_syntax(target, error) for error in target.errors if not isinstance(error, LaterPythonError)],
        skipped=[
            ReportedSkip(code=UNREADABLE, missing=["a newer Python"], because=error.what, reasons=[error.what])
            for error in target.errors
            if isinstance(error, LaterPythonError)
        ],
        suppressed=(),
    )


def _syntax(target: UnreadableTarget, error: HoldfastError) -> ReportedFinding:
    found = ReportedFinding(
        code=UNREADABLE,
        name="unreadable-target",
        severity=Severity.ERROR,
        message=f"{error.what}; {error.fix}",
        key="",
        path=error.spot.path,
        line=error.spot.line,
        column=error.spot.column,
        end_line=None,
        end_column=None,
        why="What cannot be read can be neither checked nor run.",
        source="the grammar of Python, or the schema of a job file: `holdfast explain job`",
        fix=None,
        origin=error.spot.origin or None,
        overrides=target.path if error.spot.origin else None,
    )
    if not isinstance(error, RuleError):
        return found
    rule = error.rule
    return structs.replace(
        found, code=rule.code, name=rule.name, message=error.message, why=rule.why, source=rule.source
    )


def _target(checked: CheckedTarget, *, edits: bool) -> TargetResult:
    if checked.document.kind == "data":
        raise TypeError("a dataset is inspected, not checked")
    return TargetResult(
        path=checked.document.path,
        kind=checked.document.kind,
        method=checked.method,
        resolved=checked.resolved,
        because=checked.because,
        findings=[_finding(checked, finding, edits=edits) for finding in checked.findings],
        skipped=[
            ReportedSkip(
                code=skip.rule.code,
                missing=[_named(checked.document, name) for name in skip.missing],
                because=skip.because,
                reasons=skip.reasons,
            )
            for skip in checked.skips
        ],
        suppressed=[
            SuppressedFinding(
                **structs.asdict(_finding(checked, finding, edits=edits)),
                suppressed_by=ReportedSuppression(line=ignore.line, reason=ignore.reason),
            )
            for finding, ignore in checked.suppressed
        ],
        assumed=checked.assumed or None,
    )


def _named(document: Document, missing: str) -> str:
    """Return the name of what a rule lacks, for people: an argument of a call by the call and its line, not by its key."""
    under, _, name = missing.rpartition(".")
    call = document.call(under) if under.startswith(CALLS) else None
    if call is None:
        return missing
    line = f" in line {call.name_place.line}" if call.name_place.line else ""
    return (
        f"`{name}` of `{call.label}`{line}"
        if not name.isdigit()
        else f"argument {int(name) + 1} of `{call.label}`{line}"
    )


def _finding(checked: CheckedTarget, finding: Finding, *, edits: bool) -> ReportedFinding:
    rule, place = finding.rule or NO_RULE, finding.place or checked.document.place(finding.key)
    return ReportedFinding(
        code=rule.code,
        name=rule.name,
        severity=severity_of(finding),
        message=finding.message,
        key=finding.key,
        path=place.path,
        line=place.line,
        column=place.column,
        end_line=place.end_line,
        end_column=place.end_column,
        why=rule.why,
        source=rule.source,
        fix=_fix(checked, finding, finding.fix, edits=edits) if finding.fix else None,
        cell=place.cell or None,
        origin=place.origin or None,
        overrides=checked.document.path if place.origin else None,
    )


def _fix(checked: CheckedTarget, finding: Finding, fix: Fix, *, edits: bool) -> ReportedFix | None:
    """Return a fix with its edits of the text, none for one in a file that the target runs.

    It is None if its key is not written there, but came from `--set`, say.
    """
    document = finding.document or checked.document
    elsewhere = bool(checked.path) and document.path != checked.path
    if edits or elsewhere or not checked.can_place or not fix.edits:
        return _with_edits(checked, finding, fix, document, elsewhere=elsewhere)
    return ReportedFix(safe=fix.safe, title=fix.title) if checked.can_place(document, fix.edits) else None


def _with_edits(
    checked: CheckedTarget, finding: Finding, fix: Fix, document: Document, *, elsewhere: bool
) -> ReportedFix | None:
    """Return a fix with its edits of the text; None if they cannot be placed."""
    try:
        placed = checked.place_edits(document, fix.edits) if fix.edits else ()
    except UsageError:
        return None
    if elsewhere:
        return ReportedFix(safe=fix.safe, title=fix.title, edits=())
    place = finding.place or document.place(finding.key)
    every = [_edit(edit, document.path, place.path) for edit in (*placed, *fix.text_edits)]
    return ReportedFix(safe=fix.safe, title=fix.title, edits=every)


def _edit(edit: TextEdit, document: str, finding: str) -> ReportedEdit:
    """Return an edit with its path, where that is not the finding's."""
    path = edit.path or document
    return ReportedEdit(
        start=edit.start,
        end=edit.end,
        text=edit.text,
        cell=edit.cell or None,
        path=None if path == finding else path,
    )
