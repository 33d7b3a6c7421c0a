"""Conditions that make an evaluation fail: decided by intervals, so that chance does not."""

from collections.abc import Container, Iterator, Mapping, Sequence

from holdfast.catalog.metrics import AtLeast
from holdfast.results.evaluate import BaseFigure, EvaluationFigure, GateResult


def judge_at_least(
    gate: AtLeast, figures: Sequence[EvaluationFigure], lower_is_better: Container[str]
) -> Iterator[GateResult]:
    """Yield for each dataset whether a condition holds: whether all of the interval is on its side."""
    lower = gate.metric in lower_is_better
    found = [each for each in figures if each.metric == gate.metric and each.where is None]
    for each in found:
        end = each.high if lower else each.low
        passed = end is not None and (end <= gate.bound if lower else end >= gate.bound)
        yield GateResult(gate=str(gate), dataset=each.dataset, passed=passed, because=_interval(each))
    if not found:
        because = f"no dataset has a figure `{gate.metric}`"
        yield GateResult(gate=str(gate), dataset="", passed=False, because=because)


def _interval(figure: EvaluationFigure) -> str:
    if figure.value is None:
        return f"{figure.metric} has no value"
    if figure.low is None or figure.high is None:
        return f"{figure.metric} is {figure.value:.4g}, of too few rows for an interval"
    return f"{figure.metric} is {figure.value:.4g}, between {figure.low:.4g} and {figure.high:.4g}"


def judge_not_worse(model: str, figures: Sequence[EvaluationFigure]) -> Iterator[GateResult]:
    """Yield for each dataset whether the model is nowhere worse than another: whether no interval lies on the worse side of 0."""
    gate, by_dataset = f"--not-worse-than {model}", _compared(figures)
    for dataset, compared in by_dataset.items():
        worse = [(metric, base) for metric, base in compared if base.verdict == "worse"]
        because = ", ".join(_change(*each) for each in worse or compared)
        yield GateResult(gate=gate, dataset=dataset, passed=not worse, because=because)
    if not by_dataset:
        yield GateResult(gate=gate, dataset="", passed=False, because="nothing could be compared")


def _compared(figures: Sequence[EvaluationFigure]) -> Mapping[str, list[tuple[str, BaseFigure]]]:
    """Return the figures over all rows that have one of another model beside them, by dataset."""
    by_dataset: dict[str, list[tuple[str, BaseFigure]]] = {}
    for each in figures:
        if each.where is None and each.base is not None:
            by_dataset.setdefault(each.dataset, []).append((each.metric, each.base))
    return by_dataset


def _change(metric: str, base: BaseFigure) -> str:
    if base.difference is None or base.low is None or base.high is None:
        return f"{metric} cannot be compared"
    return f"{metric} {base.difference:+.4g} ({base.low:+.4g} to {base.high:+.4g})"
