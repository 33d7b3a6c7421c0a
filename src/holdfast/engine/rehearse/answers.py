"""The result of `rehearse`, made from what the rehearsal showed."""

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET

from holdfast.core.check.finding import Severity
from holdfast.core.rehearse.rehearsal import Failure, Objection, Rehearsal, StageName
from holdfast.engine.rehearse.continuing import DIVERGES
from holdfast.engine.rehearse.naming import CODE
from holdfast.results.rehearse import (
    NotRehearsed,
    OutputLine,
    RehearsalFailure,
    RehearsalWarning,
    RehearseResult,
    ReportedSandbox,
    ReportedStage,
    ShrunkSetting,
)

AGAIN: Final[StageName] = "resume"
"""The stage of a second start."""


def rehearse_result(
    rehearsal: Rehearsal, *, elapsed_s: float, path: str, isolated: bool, strict: bool
) -> RehearseResult:
    """Return the result of a rehearsal.

    Args:
        rehearsal: The verdict.
        elapsed_s: Time it took in all.
        path: What was rehearsed.
        isolated: Whether each failure was isolated: is data, model or code to blame?
        strict: Whether a stage that was missed fails like one that failed.
    """
    failures = [report_failure(each) for each in rehearsal.failures]
    return RehearseResult(
        verb="rehearse",
        verdict="pass" if _passes(rehearsal, strict=strict) else "fail",
        path=path,
        elapsed_s=round(elapsed_s, 3),
        stages=[
            ReportedStage(
                name=stage.name,
                status=stage.status,
                elapsed_s=round(stage.elapsed_s, 3),
                because=stage.because,
                missed=stage.missed,
            )
            for stage in rehearsal.stages
        ],
        failure=failures[0] if failures else None,
        failures=failures,
        warnings=[
            RehearsalWarning(code=each.code, severity=_severity(each), stage=each.stage, message=each.message)
            for each in (*rehearsal.warnings, *_losses(rehearsal))
        ],
        not_rehearsed=[NotRehearsed(what=each.what, because=each.because) for each in rehearsal.omitted],
        shrunk=[ShrunkSetting(what=each.what, asked=each.asked, given=each.given) for each in rehearsal.shrunk],
        learnt=rehearsal.learnt,
        versions=rehearsal.versions,
        isolated=isolated,
        sandbox=_reported_sandbox(rehearsal.no_sandbox),
        faults=UNSET if rehearsal.faults is None else rehearsal.faults,
    )


def _passes(rehearsal: Rehearsal, *, strict: bool) -> bool:
    """True if a rehearsal passes. A fault after which nothing goes on fails it; one that loses the training does so with `strict`."""
    became = {fault.status for fault in rehearsal.faults or ()}
    missed = strict and (not rehearsal.complete or "loses" in became)
    return rehearsal.passed and "fails" not in became and not missed


def _losses(rehearsal: Rehearsal) -> Iterator[Objection]:
    """Yield what is said of faults after which all that was trained is lost."""
    for fault in rehearsal.faults or ():
        if fault.status == "loses":
            code = "nan-loss-silent-success" if fault.action == "finishes" else "no-checkpoint-saved"
            yield Objection(code=code, message=f"after the fault `{fault.name}`: {fault.because}", stage=AGAIN)


def _severity(objection: Objection) -> Severity:
    """Return the severity of what fails nothing: an error of which no class of failure says what it comes to is a warning."""
    return Severity.WARNING if objection.fails else objection.severity


def _reported_sandbox(missing: str | None) -> ReportedSandbox | None:
    return None if missing is None else ReportedSandbox(active=not missing, because=missing or None)


def refuses(failure: Failure) -> bool:
    """True if a failure forbids a run.

    Of the script's own lines one does not that is only slow, or large, on this machine; nor one that is met when the job is
    started a second time. Nor does a resumed training that differs: one that is not stopped trains as requested.
    """
    name = failure.cause.signature.name
    return name != DIVERGES and (name != CODE or not (failure.over or failure.stage == AGAIN))


def report_failure(failure: Failure) -> RehearsalFailure:
    """Return a failure as the result shows it."""
    cause = failure.cause
    return RehearsalFailure(
        name=cause.signature.name,
        title=cause.signature.title,
        stage=failure.stage,
        confidence=cause.confidence,
        evidence=[OutputLine(path=each.path, line=each.line, text=each.text) for each in cause.evidence],
        cause=cause.cause,
        fix=cause.fix,
        where=failure.where or None,
        function=failure.function or None,
        role=failure.role or None,
        code=failure.code or None,
        key=failure.key or None,
        over=failure.over or None,
        refuses=refuses(failure),
        blame=failure.blame,
        blamed_because=failure.blamed or None,
        prevented_by=cause.found_by,
    )
