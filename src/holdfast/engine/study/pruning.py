"""Which trials of a study are stopped early: asynchronous successive halving.

Rungs are at `min_steps`, `factor` times that, and so on. A trial that reaches a rung goes on only if it is among the best one in `factor` of the
trials that have reached it. So the first trials pass, and a trial is judged once at each rung, never again.
Source: Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning"; the stopping variant, as in Optuna's `SuccessiveHalvingPruner`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from holdfast.core.run.training_event import Evaluated
from holdfast.core.study.study import Pruning, StudyMetric
from holdfast.engine.units import render_counted, render_number


@dataclass(slots=True)
class Pruner:
    """Judges trials by the values of their metric while they run.

    Attributes:
        pruning: The rungs.
        metric: The metric.
    """

    pruning: Pruning
    metric: StudyMetric
    _rungs: dict[int, dict[str, float]] = field(default_factory=dict[int, dict[str, float]])

    def judge(self, trial: str, evaluated: Iterable[Evaluated]) -> str:
        """Return why a trial is to be stopped; empty if it goes on. At its last step it does: then only its end is left.

        Args:
            trial: What the trial is known by.
            evaluated: Its evaluations so far, in the order of their steps. Of a trial that has ended, they are remembered.
        """
        because = ""
        for rung, step, value, is_last in self._reached([*evaluated]):
            values = self._rungs.setdefault(rung, {})
            if trial not in values:
                values[trial] = value
                behind = "" if is_last else self._behind(value, [*values.values()])
                because = because or (behind and f"at step {step} {behind}")
        return because

    def _reached(self, evaluated: Sequence[Evaluated]) -> Iterator[tuple[int, int, float, bool]]:
        """Yield each rung that a trial has reached, with the step and the value of its first evaluation there."""
        values = [
            (each.step or 0, dict(each.figures())[self.metric.name], each.step == each.max_steps)
            for each in evaluated
            if self.metric.name in dict(each.figures())
        ]
        rung = self.pruning.min_steps
        while found := next((each for each in values if each[0] >= rung), None):
            yield rung, *found
            rung *= self.pruning.factor

    def _behind(self, value: float, values: Sequence[float]) -> str:
        better = sum(each < value if self.metric.lower_is_better else each > value for each in values)
        passing = len(values) // self.pruning.factor
        if not passing or better < passing:
            return ""
        among = f"the best {passing}" if passing > 1 else "the best"
        return f"its {self.metric.name} of {render_number(value)} is not among {among} of {render_counted(len(values), 'trial')}"
