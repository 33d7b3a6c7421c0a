"""What was logged over a run, by metric, and the classes that such numbers speak for."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from holdfast.core.diagnose.log import Line, Log, Metrics
from holdfast.engine.diagnose.metrics import SAID

FEW: Final = 3
"""Steps under which nothing is said of all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassEvidence:
    """A class that the metrics speak for.

    Attributes:
        name: The class.
        weight: How sure it is by them alone.
        lines: The lines that show it, the clearest first.
        values: For the signature's words: `loss`, `step`, `rate`.
        explains: Whether it holds as much where an exception ended the job.
    """

    name: str
    weight: float
    lines: tuple[Line, ...]
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    explains: bool = False


@dataclass(frozen=True, slots=True)
class MetricHistory:
    """What was logged over a run: training steps, evaluations, the summary at the end, and what was said beside, by its name."""

    log: Log
    steps: tuple[Metrics, ...]
    evaluations: tuple[Metrics, ...]
    ends: tuple[Metrics, ...]
    said: Mapping[str, Line] = field(default_factory=dict[str, Line])

    def every(self, name: str) -> list[float]:
        """Return the values of a metric, of the steps that have it."""
        return [step.values[name] for step in self.steps_with(name)]

    @property
    def progress(self) -> tuple[int, int]:
        """The last step and the number of all, by the training's bar; zeros if there is no bar."""
        return self.log.progress or (0, 0)

    @property
    def first_lines(self) -> tuple[Line, ...]:
        """The lines of the first steps."""
        return tuple(step.line for step in self.steps[:FEW])

    def all_of(self, test: Callable[[Metrics], bool]) -> bool:
        """True if all steps are so, and there are enough to say it."""
        return len(self.steps) >= FEW and all(map(test, self.steps))

    def found(self, name: str, weight: float, at: Sequence[Metrics] = (), **values: object) -> ClassEvidence:
        """Return a finding that some steps show; the first three where none are named."""
        lines = tuple(step.line for step in (at or self.steps)[:FEW])
        return ClassEvidence(
            name=name,
            weight=weight,
            lines=lines,
            values={key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in values.items()},
        )

    def steps_with(self, name: str) -> list[Metrics]:
        """Return the steps that have a metric."""
        return [step for step in self.steps if name in step.values]


def read_metric_history(log: Log) -> MetricHistory:
    """Return the metrics of a log by what they are of."""
    ends = tuple(step for step in log.metrics if "train_runtime" in step.values)
    evaluations = tuple(step for step in log.metrics if any(name.startswith("eval_") for name in step.values))
    steps = tuple(step for step in log.metrics if "loss" in step.values and step not in ends)
    said = {name: step.line for step in log.metrics for name in step.values if name in SAID.values()}
    return MetricHistory(log, steps, evaluations, ends, said)


@dataclass(frozen=True, slots=True)
class LinearDescent:
    """A learning rate that falls by the same from each logged step to the next.

    Attributes:
        rates: The rate of each logged step.
        epochs: The epoch of each, which are as many.
    """

    rates: Sequence[float]
    epochs: Sequence[float]

    @property
    def drop(self) -> float:
        """The rate's fall from one logged step to the next."""
        return self.rates[0] - self.rates[1]

    @property
    def pace(self) -> float:
        """Epochs from one logged step to the next."""
        return self.epochs[1] - self.epochs[0]

    @property
    def is_even(self) -> bool:
        """Whether the rate falls by the same each time."""
        return all(math.isclose(one - two, self.drop, rel_tol=0.05) for one, two in pairwise(self.rates))


def find_descent(course: MetricHistory) -> LinearDescent | None:
    """Return the linear fall of a run's learning rate; None if there are too few steps, or the rate does not fall evenly."""
    rates, epochs = course.every("learning_rate"), course.every("epoch")
    if len(rates) < FEW or len(rates) != len(epochs):
        return None
    descent = LinearDescent(rates, epochs)
    return descent if descent.drop > 0 and descent.pace > 0 and descent.is_even else None
