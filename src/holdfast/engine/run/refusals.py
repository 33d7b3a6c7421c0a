"""Why a run was refused before it was started, from what `check` or the rehearsal said of its job."""

from collections.abc import Collection, Iterator

from holdfast.core.check.finding import Severity
from holdfast.results.check import CheckResult
from holdfast.results.refusal import RunRefusal
from holdfast.results.rehearse import RehearseResult


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
