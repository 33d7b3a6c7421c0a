"""Why a run was refused before it was started, from what `check` or the rehearsal said of its job."""

from collections.abc import Collection, Iterable, Iterator

from holdfast.core.check.finding import Finding, Severity
from holdfast.engine.check.rule_runner import severity_of
from holdfast.results.check import CheckResult
from holdfast.results.refusal import RunRefusal
from holdfast.results.rehearse import RehearseResult


def blocking_findings(findings: Iterable[Finding], despite: Collection[str]) -> list[Finding]:
    """Return the findings for which a run is refused: the errors whose rules the user did not name under `--despite`."""
    return [
        finding
        for finding in findings
        if finding.rule and severity_of(finding) is Severity.ERROR and finding.rule.code not in despite
    ]


def check_refusals(result: CheckResult, codes: Collection[str]) -> Iterator[RunRefusal]:
    """Yield the findings that forbid a run.

    Args:
        result: The result of `check`.
        codes: The rules for which it was refused; the user allowed the others.
    """
    for finding in result.findings:
        if finding.severity is Severity.ERROR and finding.code in codes:
            where = f"{finding.path}:{finding.line}" if finding.line else finding.path
            fix = finding.fix.title if finding.fix else None
            yield RunRefusal(code=finding.code, message=finding.message, where=where, fix=fix)


def rehearsal_refusals(result: RehearseResult) -> Iterator[RunRefusal]:
    """Yield the failures of a rehearsal that forbid a run."""
    for failure in result.failures:
        if failure.refuses:
            yield RunRefusal(code=failure.name, message=failure.cause, where=failure.where, fix=failure.fix)
