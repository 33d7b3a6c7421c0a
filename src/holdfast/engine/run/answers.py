"""Results about runs and checkpoints, made from their states."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import UNSET, convert, structs

from holdfast.core.run.attempt_state import AttemptState, remaining
from holdfast.core.run.checkpoint import CheckpointIntegrity
from holdfast.core.run.event import Delivered, Diagnosed, ModelEvaluated, ModelExported, RunStage
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.core.run.requested_job import RequestedRun
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import BestLoaded, Resumed
from holdfast.engine.evaluate.headlines import describe_dataset, main_figure
from holdfast.engine.run.advice import next_commands
from holdfast.results.attempt import (
    AttemptDiagnosis,
    AttemptRecovery,
    AttemptResult,
    AttemptResume,
    AttemptTrouble,
    ChosenCheckpoint,
)
from holdfast.results.diagnose import RemedyEdit
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.plan import EstimateRange
from holdfast.results.run import (
    DamagedFile,
    DeliveryResult,
    RunDatasetEvaluation,
    RunEvaluation,
    RunExport,
    RunResult,
    VerifyResult,
)

RunVerb = Literal["run", "show", "watch"]


def run_result(
    run: str, state: RunState, verb: RunVerb = "run", *, supervised: bool | None = None, cost_usd: float = 0.0
) -> RunResult:
    """Return the result of one run.

    Args:
        run: Its name.
        state: Its state.
        verb: The command whose result it is.
        supervised: Whether a process supervises it; None if this was not looked up.
        cost_usd: What it has cost so far.
    """
    requested = convert(state.about, RequestedRun, from_attributes=True)
    output, pushed = _delivered(state, requested)
    return RunResult(
        verb=verb,
        run=run,
        stage=state.stage,
        because=state.because,
        refused_by=state.refused_by or None,
        attempts=list(map(_attempt, state.attempts)),
        metrics=state.current.metrics if state.current else {},
        metric_steps=state.current.metric_steps if state.current and state.current.metric_steps else UNSET,
        folder=state.folder,
        output=output,
        pushed=pushed,
        deliveries=[_delivery(state, found) for found in state.deliveries.values()],
        cost_usd=round(cost_usd, 6),
        asked=requested,
        started_at=state.started_s,
        next=next_commands(run, state, supervised=supervised),
        evaluation=_evaluation(state.evaluated) if state.evaluated else UNSET,
        export=_export(state.exported) if state.exported else UNSET,
        schedule=state.scheduled.schedule.times if state.scheduled else UNSET,
        supervised=supervised,
    )


def _export(exported: ModelExported) -> RunExport:
    return RunExport(verdict=exported.verdict, because=exported.because, folder=exported.folder, files=exported.files)


def remaining_time(state: RunState, now_s: float, *, supervised: bool) -> EstimateRange | None:
    """Return how long a run trains until its last step, by its steps so far; None if that is not known.

    Args:
        state: The state of the run.
        now_s: Unix time.
        supervised: Whether a process supervises it; otherwise it is not known whether it still trains.
    """
    attempt = state.current
    if not supervised or state.stage.ended or state.stop or attempt is None:
        return None
    found = remaining(attempt, now_s)
    return EstimateRange(value=found.value, low=found.low, high=found.high) if found else None


def _delivered(state: RunState, requested: RequestedRun) -> tuple[str | None, str | None]:
    """Return the folder of the trained model, and the repository that it was pushed to; None for a run that did not succeed."""
    if state.stage is not RunStage.SUCCEEDED:
        return None, None
    # A job file's model is in the run's folder; a script saves and pushes where it likes.
    folder = f"{state.folder}/model" if state.about.method else state.saved_model
    return folder, requested.pushed or next(iter(state.deliveries), None)


def _evaluation(evaluated: ModelEvaluated) -> RunEvaluation:
    return RunEvaluation(verdict=evaluated.verdict, because=evaluated.because, files=evaluated.files)


def with_evaluations(result: RunResult, results: Sequence[EvaluateResult]) -> RunResult:
    """Return the result of a run with what the evaluation of its final model says of each dataset."""
    if not result.evaluation:
        return result
    datasets = [each for evaluated in results for each in _datasets(evaluated)]
    return structs.replace(result, evaluation=structs.replace(result.evaluation, datasets=datasets))


def _datasets(evaluated: EvaluateResult) -> Iterator[RunDatasetEvaluation]:
    for dataset in evaluated.datasets:
        if figure := main_figure(evaluated, dataset):
            yield RunDatasetEvaluation(
                dataset=dataset.dataset,
                said=describe_dataset(evaluated, dataset),
                metric=figure.metric,
                rows=figure.rows,
                value=figure.value,
                low=figure.low,
                high=figure.high,
                base=figure.base.value if figure.base else None,
                verdict=figure.base.verdict if figure.base else None,
            )
    for failed in evaluated.failed:
        yield RunDatasetEvaluation(dataset=failed.dataset, said=f"failed: {failed.because}")


def _delivery(state: RunState, delivered: Delivered) -> DeliveryResult:
    push = state.pushes.get(delivered.repository)
    return DeliveryResult(
        repository=delivered.repository,
        verdict=delivered.verdict,
        because=delivered.because,
        folder=push.folder or None if push else None,
    )


def _attempt(attempt: AttemptState) -> AttemptResult:
    return AttemptResult(
        number=attempt.number,
        backend=attempt.backend,
        id=attempt.id,
        stage=attempt.stage,
        steps=attempt.steps,
        max_steps=attempt.max_steps,
        resume_from=attempt.resume_from,
        passed_over=attempt.passed_over,
        resumed=_resume(attempt.resumed) if attempt.resumed else None,
        best=_best(attempt.best) if attempt.best else None,
        exit_code=attempt.exit_code,
        diagnosis=_diagnosis(attempt.diagnosed) if attempt.diagnosed and attempt.diagnosed.name else None,
        remedy=_edits(attempt.remedy.changes) if attempt.remedy else None,
        recovery=_recovery(attempt.remedy) if attempt.remedy else None,
        troubles=[AttemptTrouble(kind=each.kind, text=each.text, step=each.step) for each in attempt.troubles],
    )


def _best(best: BestLoaded) -> ChosenCheckpoint:
    return ChosenCheckpoint(path=best.checkpoint, metric=best.metric, value=best.value)


def _resume(resumed: Resumed) -> AttemptResume:
    return AttemptResume(verdict=resumed.verdict, changes=_edits(resumed.changes))


def _edits(changes: Iterable[SettingChange]) -> list[RemedyEdit]:
    return [
        RemedyEdit(key=each.key, action="remove" if each.after is None else "set", before=each.before, after=each.after)
        for each in changes
    ]


def _recovery(remedy: AppliedRemedy) -> AttemptRecovery:
    return AttemptRecovery(
        permission=remedy.permission,
        because=remedy.because,
        skips=remedy.skips,
        resumes_until=remedy.resumes_until,
        keeps=remedy.keeps,
        differs=remedy.differs,
        undo=remedy.undo(),
    )


def _diagnosis(cause: Diagnosed) -> AttemptDiagnosis:
    return AttemptDiagnosis(
        name=cause.name,
        title=cause.title,
        fix=cause.fix,
        retry=cause.retry,
        confidence=cause.confidence,
        stops=cause.stops,
        where=cause.where,
        rank=cause.rank,
    )


def verify_result(integrity: CheckpointIntegrity) -> VerifyResult:
    """Return the result of a verification."""
    return VerifyResult(
        verb="verify",
        verdict=integrity.verdict,
        path=integrity.path,
        step=integrity.step,
        problems=[DamagedFile(file=problem.file, message=problem.message) for problem in integrity.problems],
    )
