"""The outcome of a run in one sentence, for readers who know nothing of training."""

from dataclasses import dataclass

from holdfast.core.run.event import RunStage
from holdfast.engine.run.progress import MetricValue, Progress
from holdfast.engine.units import render_change, render_duration, render_number

SPOKEN = {
    "eval_reward": "evaluation reward",
    "reward": "reward",
    "eval_loss": "evaluation loss",
    "loss": "training loss",
}
"""The metrics that show how training went, the most informative first. The loss of a method that generates shows nothing."""


@dataclass(frozen=True, slots=True)
class MetricChange:
    """How far training moved the metric that tells most.

    Attributes:
        name: The metric, as the trainer logs it.
        spoken: The metric, as people say it.
    """

    name: str
    spoken: str
    before: MetricValue
    after: MetricValue

    def __str__(self) -> str:
        before, after = render_number(self.before.value), render_number(self.after.value)
        if before == after:
            return f"{self.spoken} stayed at {after}"
        went = "rose" if self.after.value > self.before.value else "fell"
        # A reward has no natural zero, so a share of it would mean nothing.
        share = "" if self.name.endswith("reward") else f" ({render_change(self.before.value, self.after.value)})"
        return f"{self.spoken} {went} from {before} to {after}{share}"


def find_change(progress: Progress) -> MetricChange | None:
    """Return the change of the most telling metric; None if none was measured twice."""
    for name, spoken in SPOKEN.items():
        before, after = progress.first.get(name), progress.last.get(name)
        if before and after and before.step < after.step:
            return MetricChange(name, spoken, before, after)
    return None


def render_summary(progress: Progress, now_s: float) -> str:
    """Return the verdict on a run, finished or not, as text.

    >>> render_summary(Progress(), now_s=0)
    'Not started yet.'
    """
    if progress.attempt is None:
        return f"Never started: {progress.state.because}." if progress.state.stage.ended else "Not started yet."
    sentence = _sentence(progress, render_duration(progress.elapsed_s(now_s)))
    figure = find_change(progress) or _last_figure(progress)
    return f"{sentence}; {figure}." if figure else f"{sentence}."


def _sentence(progress: Progress, took: str) -> str:
    """Return how far training came, without a full stop."""
    state, planned, done = progress.state, progress.max_steps, _done(progress)
    match state.stage:
        case RunStage.SUCCEEDED:
            early = planned is not None and progress.step < planned
            return f"Trained {done} in {took}, start-up included{', stopped early as asked' if early else ''}"
        case RunStage.FAILED | RunStage.CANCELLED:
            return f"{state.stage.value.capitalize()} after {took}: {state.because}"
        case RunStage.QUEUED:
            return f"Not training: {progress.phase}, {took} so far"
        case _:
            return f"Still running: {done} in {took}{_what_is_not_over(progress)}"


def _done(progress: Progress) -> str:
    return f"{progress.step} of {progress.max_steps} steps" if progress.max_steps else "no step"


def _what_is_not_over(progress: Progress) -> str:
    if progress.max_steps and progress.step >= progress.max_steps:
        return "; what comes after training, such as saving, is not over"
    return ""


def _last_figure(progress: Progress) -> str:
    """Return the most telling metric of a run that measured each once; empty if it measured none."""
    known = (
        f"{spoken} {render_number(progress.last[name].value)}"
        for name, spoken in SPOKEN.items()
        if name in progress.last
    )
    return next(known, "")
