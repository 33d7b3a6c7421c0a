"""The result of `diagnose`, made from what was found in the logs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import structs

from holdfast.core.diagnose.diagnosis import Cause, Diagnosis, Evidence, Remedy
from holdfast.core.job.document import DocumentKind
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.run.event import Refuser
from holdfast.core.text.numbers import is_count
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.results.diagnose import DiagnoseResult, RemedyEdit, ReportedCause, ReportedEvidence
from holdfast.results.refusal import RunRefusal
from holdfast.rules import find_rule

TRAIN: Final = "train."
BATCH: Final = "per_device_train_batch_size"
ACCUMULATION: Final = "gradient_accumulation_steps"
JOB: Final = "job"
DATA: Final = "data"
FACTORS: Final[Mapping[str, float]] = {"halve": 0.5, "double": 2}
"""Actions that keep the effective batch size: what they take from one setting, accumulation gives back."""
OPPOSITE: Final[Mapping[str, Literal["halve", "double"]]] = {"halve": "double", "double": "halve"}


def diagnose_result(
    diagnosis: Diagnosis,
    paths: Sequence[str],
    declared: DeclaredTraining | None = None,
    *,
    job: str,
    reported: Collection[str] | None,
) -> DiagnoseResult:
    """Return the result for some logs.

    Args:
        diagnosis: The diagnosis.
        paths: The logs.
        declared: The settings of the job's trainer, if they are known: remedies say from which value to which, and a change
            that the job has already is not proposed.
        job: The job's own file; empty if none is known.
        reported: Codes of the rules that report something in that file; None if it was not read.
    """
    return DiagnoseResult(
        verb="diagnose",
        verdict=diagnosis.verdict,
        causes=[_cause(cause, declared, kind_of(job), _finders(cause, reported)) for cause in diagnosis.causes],
        missing=diagnosis.missing,
        quiet=diagnosis.is_quiet,
        paths=paths,
        lines=diagnosis.lines,
        versions=diagnosis.versions,
        running=None,
        job=None,
    )


def _finders(cause: Cause, reported: Collection[str] | None) -> Sequence[str]:
    """Return the rules that report a cause before launch: those that report something in the job's own file, or would in any with this fault."""
    if reported is None:
        return cause.found_by
    return [code for code in cause.signature.prevented_by if code in reported]


def with_refusal(result: DiagnoseResult, by: Refuser, refusal: Sequence[RunRefusal]) -> DiagnoseResult:
    """Return the diagnosis of a run that never began: why it was refused, and nothing that is guessed beside that."""
    codes = {each.code for each in refusal}
    causes = [each for each in result.causes if each.name in codes or codes & {*each.prevented_by, *each.inspected_by}]
    return structs.replace(
        result, verdict="diagnosed", causes=causes, missing=(), refused_by=by or None, refusal=refusal
    )


def _cause(
    cause: Cause,
    declared: DeclaredTraining | None,
    kind: DocumentKind,
    finders: Sequence[str],
) -> ReportedCause:
    signature = cause.signature
    changes = [each for each in cause.remedy if not (declared and declared.is_applied(each))]
    return ReportedCause(
        name=signature.name,
        title=signature.title,
        phase=signature.phase,
        confidence=cause.confidence,
        evidence=[report_evidence(each) for each in cause.evidence],
        cause=cause.cause,
        fix=cause.fix,
        retry=signature.retry,
        remedy=[edit for each in changes for edit in _remedies(each, declared)] or None,
        prevented_by=[code for code in finders if kind in find_rule(code).kinds],
        inspected_by=[code for code in finders if kind != JOB and DATA in find_rule(code).kinds],
    )


def kind_of(job: str) -> DocumentKind:
    """Return the kind as which `holdfast check` reads a job's own file; a log alone counts as a script's.

    >>> kind_of("train.yaml"), kind_of("")
    ('job', 'script')
    """
    return JOB if target_kind(job) is TargetKind.JOB else "script"


def report_evidence(evidence: Evidence) -> ReportedEvidence:
    """Return a line of evidence as results show it."""
    return ReportedEvidence(path=evidence.path, line=evidence.line, text=evidence.text, rank=evidence.rank)


def _remedies(remedy: Remedy, declared: DeclaredTraining | None) -> Iterator[RemedyEdit]:
    """Yield a change, and the one that makes up for it; from which value to which where the job's own are at hand."""
    settings = declared.settings if declared else {}
    before = settings.get(remedy.key.removeprefix(TRAIN)) if remedy.key.startswith(TRAIN) else None
    if remedy.action not in FACTORS:
        yield RemedyEdit(key=remedy.key, action=remedy.action, before=before, after=remedy.value)
        return
    after = _scaled(before, FACTORS[remedy.action])
    if after is None and is_count(before):
        return  # one row a step cannot be halved
    yield RemedyEdit(key=remedy.key, action=remedy.action, before=before, after=after)
    if remedy.key == TRAIN + BATCH:
        yield _balancing(remedy, declared)


def _balancing(remedy: Remedy, declared: DeclaredTraining | None) -> RemedyEdit:
    """Return the change of accumulation that keeps the effective batch size when the batch is halved or doubled."""
    key = TRAIN + ACCUMULATION
    is_computed = declared is None or ACCUMULATION in declared.unknown
    before = None if is_computed or declared is None else declared.settings.get(ACCUMULATION, 1)
    if after := _scaled(before, 1 / FACTORS[remedy.action]):
        return RemedyEdit(key=key, action="set", before=before, after=after)
    return RemedyEdit(key=key, action=OPPOSITE[remedy.action], before=None, after=None)


def _scaled(count: Any, factor: float) -> int | None:
    """Return a count times a factor; None of what is no count, or if the result is none.

    >>> _scaled(8, 0.5), _scaled(1, 0.5), _scaled("auto", 2)
    (4, None, None)
    """
    scaled = count * factor if is_count(count) else 0
    return int(scaled) if scaled >= 1 and scaled == int(scaled) else None
