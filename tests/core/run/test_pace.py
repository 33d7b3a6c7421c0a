"""How long a training still takes, by the steps that it has done."""

from functools import reduce

import pytest

from holdfast.core.run.pace import Pace, follow_pace
from holdfast.core.run.training_event import Evaluated, StepDone, TrainingEvent, TrainingStarted


def trained(seconds: list[float], *, began: int = 0, every: int = 0, evaluation_s: float = 0.0) -> Pace:
    """Return the pace of a training whose steps take so long, with evaluations in between."""
    at_s, events = 1000.0, list[TrainingEvent]([TrainingStarted(at=1000.0, step=began)])
    for number, each in enumerate(seconds, began + 1):
        at_s += each
        events.append(StepDone(at=at_s, step=number))
        if every and number % every == 0:
            at_s += evaluation_s
            events.append(Evaluated(at=at_s, step=number))
    return reduce(follow_pace, events, Pace())


def test_evaluations_and_saves_so_far_count_for_the_steps_to_come() -> None:
    """The newest steps alone would promise an end that is never kept."""
    pace = trained([1.0] * 41, every=10, evaluation_s=10.0)
    assert pace.at_s is not None
    found = pace.remaining(81, pace.at_s, 1.0)

    assert found is not None
    assert found.low == 40
    assert found.value == pytest.approx(40 * (41 + 40) / 41)
    assert found.value < found.high < 1.3 * found.value


def test_a_training_that_gets_slower_may_take_as_long_as_its_newest_steps() -> None:
    pace = trained([1.0] * 50 + [3.0] * 50)
    assert pace.at_s is not None
    found = pace.remaining(200, pace.at_s, 3.0)

    assert found is not None
    assert found.high >= 300


def test_a_slow_first_step_counts_less_and_less() -> None:
    few, many = trained([60.0] + [1.0] * 4), trained([60.0] + [1.0] * 200)

    assert few.step_s is not None
    assert many.step_s is not None
    assert many.step_s < 1.3 < few.step_s


def test_a_resumed_training_is_judged_by_its_own_steps() -> None:
    assert trained([2.0] * 10, began=500).step_s == 2.0


@pytest.mark.parametrize(
    "pace",
    [
        Pace(),
        trained([1.0]),
        trained([1.0, 1.0]),
        Pace(began_s=None, began=0, at_s=9.0, steps=9),
        Pace(began_s=9.0, began=0, at_s=9.0, steps=9),
    ],
)
def test_too_little_is_no_ground_for_a_number(pace: Pace) -> None:
    assert pace.remaining(100, 2000.0, 1.0) is None


def test_time_since_the_newest_step_has_passed_already() -> None:
    pace = trained([2.0] * 10)
    assert pace.at_s is not None
    now, later = (pace.remaining(20, pace.at_s + waited, 2.0) for waited in (0.0, 1.5))

    assert now is not None
    assert later is not None
    assert now.value - later.value == 1.5


@pytest.mark.parametrize("waited", [5.0, 400.0, 1e6])
def test_an_evaluation_or_a_stall_brings_the_end_no_nearer(waited: float) -> None:
    pace = trained([2.0] * 50)
    assert pace.at_s is not None
    found = pace.remaining(200, pace.at_s + waited, 2.0)

    assert found is not None
    assert found.value == 149 * 2.0
    assert found.low <= found.value <= found.high


def test_nothing_is_left_after_the_last_step() -> None:
    pace = trained([2.0] * 10)
    assert pace.at_s is not None
    found = pace.remaining(10, pace.at_s, 2.0)

    assert found is not None
    assert (found.low, found.value, found.high) == (0, 0, 0)
