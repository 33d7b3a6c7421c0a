"""Which curves a report draws, and how."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from holdfast.engine.report.chart import Plot, Series, draw_plot
from holdfast.engine.report.curves import Curve, smooth
from holdfast.engine.report.tables import checkpoint_step
from holdfast.engine.run.progress import Progress
from holdfast.engine.units import render_duration, render_number

SMOOTHED_FROM = 40  # points; fewer show their own trend
WINDOW = 25  # parts of a curve, one of which its running mean takes in on either side


@dataclass(frozen=True, slots=True)
class Panel:
    """A small chart of one metric.

    Attributes:
        noisy: Whether its running mean tells more than the values do.
    """

    metric: str
    title: str
    spell: Callable[[float], str] = render_number
    noisy: bool = True


PANELS = (
    Panel("rewards/accuracies", "Chosen preferred to rejected"),
    Panel("rewards/margins", "Margin between chosen and rejected"),
    Panel("completions/mean_length", "Length of completions, tokens"),
    Panel("kl", "Divergence from the reference model"),
    Panel("mean_token_accuracy", "Tokens predicted right"),
    Panel("learning_rate", "Learning rate", noisy=False),
    Panel("grad_norm", "Gradient norm"),
    Panel("step_s", "Seconds a step", render_duration),
)


def main_plot(curves: Mapping[str, Curve], progress: Progress) -> Plot | None:
    """Draw what tells how training went: the reward where there is one, else the loss."""
    metric, spoken = ("reward", "reward") if "reward" in curves else ("loss", "loss")
    trained, evaluated = curves.get(metric, Curve()), curves.get(f"eval_{metric}", Curve())
    marks = [*_resumes(progress), *((step, "not finite") for step in trained.broken[:1])]
    series = [*_trained(f"training {spoken}", trained), Series(f"evaluation {spoken}", "dots", evaluated.points)]
    return draw_plot(spoken.capitalize(), series, render_number, marks=marks, readings=True)


def small_plots(curves: Mapping[str, Curve], progress: Progress) -> tuple[Plot, ...]:
    """Draw what else was measured, one chart a metric."""
    resumes = [(step, "") for step, _ in _resumes(progress)]
    drawn = (
        draw_plot(
            panel.title,
            _trained(panel.title.lower(), curves[panel.metric], noisy=panel.noisy),
            panel.spell,
            marks=resumes,
        )
        for panel in PANELS
        if panel.metric in curves
    )
    return tuple(plot for plot in drawn if plot)


def _trained(name: str, curve: Curve, *, noisy: bool = True) -> list[Series]:
    redone = [Series("", "redone", segment) for segment in curve.redone]
    if not noisy or len(curve.points) < SMOOTHED_FROM:
        return [Series(name, "line", curve.points), *redone]
    mean = smooth(curve.points, max(1, len(curve.points) // WINDOW // 2))
    return [Series(f"{name}, running mean", "line", mean), Series("", "raw", curve.points), *redone]


def _resumes(progress: Progress) -> Iterator[tuple[float, str]]:
    for attempt in progress.state.attempts[1:]:
        if step := checkpoint_step(attempt.resume_from or ""):
            yield step, f"attempt {attempt.number}"
