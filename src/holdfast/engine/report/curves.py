"""What a run measured, as curves over its steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from holdfast.core.run.event import Event, Reported
from holdfast.core.run.training_event import Measurement, StepDone

Point = tuple[float, float]  # step, value


@dataclass(slots=True)
class Curve:
    """One metric over the steps of a run.

    Attributes:
        points: Of the run as it stands: a resumed attempt does steps anew, and the newest counts.
        redone: What earlier attempts had measured after the checkpoint that a later one began from.
        broken: Steps at which the value was not finite.
    """

    points: list[Point] = field(default_factory=list[Point])
    redone: list[list[Point]] = field(default_factory=list[list[Point]])
    broken: list[int] = field(default_factory=list[int])

    def add(self, step: int, value: float, *, resumed: bool) -> None:
        """Take in the next value; `resumed` tells that another attempt measured the one before."""
        undone: list[Point] = []
        while self.points and self.points[-1][0] >= step:
            undone.append(self.points.pop())
        if undone and resumed:
            self.redone.append(undone[::-1])
        self.points.append((step, value))


def gather_curves(events: Iterable[Event]) -> dict[str, Curve]:
    """Return the curve of each metric that the training process reported, by the trainer's name for it.

    Beside those: `step_s`, seconds that a step took.
    """
    curves: dict[str, Curve] = {}
    measured_by: dict[str, int] = {}
    for event in events:
        if not isinstance(event, Reported):
            continue
        measurement = event.training_event
        if not isinstance(measurement, Measurement):
            continue
        step = measurement.step or 0
        for name, value in _values(measurement):
            resumed = measured_by.get(name, event.attempt) != event.attempt
            curves.setdefault(name, Curve()).add(step, value, resumed=resumed)
            measured_by[name] = event.attempt
        for name in measurement.nan:
            curves.setdefault(name, Curve()).broken.append(step)
    return curves


def _values(measurement: Measurement) -> Iterator[tuple[str, float]]:
    yield from measurement.figures()
    if isinstance(measurement, StepDone) and measurement.elapsed_s is not None:
        yield "step_s", measurement.elapsed_s


def smooth(points: list[Point], window: int) -> list[Point]:
    """Return the running mean over `window` neighbours on either side, and fewer at the ends.

    >>> smooth([(1, 2.0), (2, 4.0), (3, 6.0)], window=1)
    [(1, 3.0), (2, 4.0), (3, 5.0)]
    """
    sums = [0.0]
    for _, value in points:
        sums.append(sums[-1] + value)
    smoothed: list[Point] = []
    for place, (step, _) in enumerate(points):
        start, end = max(0, place - window), min(len(points), place + window + 1)
        smoothed.append((step, (sums[end] - sums[start]) / (end - start)))
    return smoothed
