"""The result of a study, made from the outcomes of its trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import PurePosixPath
from typing import Literal

from msgspec import structs

from holdfast.core.run.event import RunStage
from holdfast.core.study.study import Study, StudyMetric
from holdfast.core.study.trial import TrialOutcome
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.importance import rank_settings
from holdfast.engine.study.summaries import SettingDifference, SettingSummary, compare_with_best, summarize_settings
from holdfast.results.study import (
    FailedTrial,
    SettingImportance,
    StudyBest,
    StudyEstimate,
    StudyResult,
    StudySettingResult,
    StudyTrialResult,
    TrialStage,
)

StudyVerdict = Literal["planned", "complete", "failed", "limited", "incomplete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """All that is known of a study.

    Attributes:
        name: Its name.
        study: The study.
        outcomes: What became of each trial, in the order of the file.
        remaining: What is left to run.
        proposals: How many trials a search has still to propose.
        runs: The runs folder.
        folder: The study's folder.
        because: Why it ended before its last trial; empty if it did not.
        started: Whether trials were started; if not, it was only looked at.
        is_limited: Whether its budget is used up.
    """

    name: str
    study: Study
    outcomes: Sequence[TrialOutcome]
    remaining: StudyEstimate
    runs: str
    folder: str
    proposals: int = 0
    because: str = ""
    started: bool = True
    is_limited: bool = False


def study_result(state: StudyState) -> StudyResult:
    """Return the result of a study."""
    metric = state.study.metric
    summaries = summarize_settings(state.outcomes, lower_is_better=metric.lower_is_better)
    differences = {render_canonical(each.settings): each for each in compare_with_best(summaries)}
    return StudyResult(
        verb="study",
        study=state.name,
        verdict=_verdict(state),
        because=state.because,
        caveat=_caveat(state),
        metric=metric.name,
        direction="minimize" if metric.lower_is_better else "maximize",
        best=_best(summaries, metric, state.runs),
        settings=[
            _setting(each, differences.get(render_canonical(each.settings)), is_best=not at)
            for at, each in enumerate(summaries)
        ],
        importance=list(starmap(_importance, rank_settings(state.outcomes).items())),
        failed=[_failed(each) for each in state.outcomes if each.has_failed],
        trials=list(map(_trial, state.outcomes)),
        remaining=state.remaining,
        elapsed_s=round(sum(each.seconds for each in _distinct(state.outcomes)), 3),
        folder=state.folder,
    )


def _caveat(state: StudyState) -> str:
    """Return why values cannot be compared; empty if they can."""
    if len({each.rows for each in state.outcomes}) < 2:  # noqa: PLR2004 - two that differ
        return ""
    name = state.study.metric.name
    return (
        f"trials measure `{name}` on different rows, since their `dataset` or its seed differs: such values are not comparable. "
        "A metric of `evaluate:` is measured on the same rows"
    )


def _importance(key: str, share: float) -> SettingImportance:
    return SettingImportance(key=key, share=round(share, 4))


def _distinct(outcomes: Sequence[TrialOutcome]) -> list[TrialOutcome]:
    """Return the outcomes without those that share a run with one before them."""
    return list({each.run or each.trial.number: each for each in outcomes}.values())


def _verdict(state: StudyState) -> StudyVerdict:
    if not _is_open(state):
        return "failed" if any(each.has_failed for each in state.outcomes) else "complete"
    if state.is_limited:
        return "limited"
    return "incomplete" if state.started or any(each.run for each in state.outcomes) else "planned"


def _is_open(state: StudyState) -> bool:
    """True if a trial has still to run."""
    return bool(state.proposals) or any(each.is_open for each in state.outcomes)


def _best(summaries: Sequence[SettingSummary], metric: StudyMetric, runs: str) -> StudyBest | None:
    """Return the first setting; None if it has no value."""
    if not summaries or summaries[0].mean is None:
        return None
    best, choose = summaries[0], min if metric.lower_is_better else max
    trial = choose(best.valued, key=lambda each: each.value or 0.0)
    return StudyBest(
        settings=best.settings,
        metric=metric.name,
        value=summaries[0].mean,
        low=best.low,
        high=best.high,
        seeds=len(best.values),
        run=trial.run,
        model=str(PurePosixPath(runs, trial.run, "model")),
    )


def _setting(summary: SettingSummary, difference: SettingDifference | None, *, is_best: bool) -> StudySettingResult:
    result = StudySettingResult(
        settings=summary.settings,
        trials=[each.trial.number for each in summary.outcomes],
        values=summary.values,
        mean=summary.mean,
        low=summary.low,
        high=summary.high,
        difference=None,
        difference_low=None,
        difference_high=None,
        p_value=None,
        verdict="best" if is_best and summary.mean is not None else _without_value(summary),
    )
    if difference is None:
        return result
    return structs.replace(
        result,
        difference=difference.difference,
        difference_low=difference.low,
        difference_high=difference.high,
        p_value=difference.p_value,
        verdict=difference.verdict,
    )


def _without_value(summary: SettingSummary) -> Literal["pruned", "no value"]:
    return "pruned" if any(each.pruned for each in summary.outcomes) else "no value"


def _trial(outcome: TrialOutcome) -> StudyTrialResult:
    return StudyTrialResult(
        number=outcome.trial.number,
        settings=outcome.trial.settings,
        seed=outcome.trial.seed,
        content=outcome.content,
        run=outcome.run or None,
        stage=trial_stage(outcome),
        value=outcome.value,
        metrics=outcome.metrics,
        elapsed_s=round(outcome.seconds, 3),
        pruned=outcome.pruned,
    )


def trial_stage(outcome: TrialOutcome) -> TrialStage:
    """Return the stage of a trial, in a word."""
    if outcome.is_refused:
        return "refused"
    if outcome.stage is None:
        return "failed" if outcome.has_failed else "waiting"
    if outcome.pruned:
        return "pruned"
    stages: dict[RunStage, TrialStage] = {
        RunStage.QUEUED: "queued",
        RunStage.RUNNING: "running",
        RunStage.SUCCEEDED: "succeeded",
        RunStage.FAILED: "failed",
        RunStage.CANCELLED: "cancelled",
    }
    return stages[outcome.stage]


def _failed(outcome: TrialOutcome) -> FailedTrial:
    return FailedTrial(
        number=outcome.trial.number,
        run=outcome.run or None,
        settings=outcome.trial.values,
        name=outcome.name,
        because=outcome.because,
        fix=outcome.fix,
    )
