"""How long trials will take: as long as those before them, and no less than their start-up."""

import pytest

from holdfast.core.job_file.job import Job
from holdfast.core.run.event import Reported
from holdfast.core.study.study import StudyBudget
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.study.spending import Spending, stepped_s, trial_seconds

TOOK = [93.0, 115.0, 161.0, 180.0, 306.0, 312.0]
"""Seconds of six trials of eight steps on a busy machine."""


def ended(seconds: list[float], steps: int, stepped: float) -> list[TrialOutcome]:
    trial = Trial(number=1, settings={})
    return [TrialOutcome(trial=trial, seconds=each, steps=steps, stepped_s=stepped) for each in seconds]


@pytest.mark.parametrize("stepped", [0.0, 8.0, 80.0])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_no_trial_takes_less_than_its_start_up(stepped: float, count: int) -> None:
    """With a quarter of the steps, only the time of steps is a quarter; with as many, the quickest trial is the least."""
    before = ended(TOOK[:count], 8, stepped)

    alike, fewer, unknown = (trial_seconds(before, [steps]) for steps in (8, 2, None))
    assert alike is not None
    assert fewer is not None
    assert alike == unknown
    assert alike.low >= min(TOOK[:count])
    assert fewer.low == pytest.approx(alike.low - stepped * 3 / 4)
    assert fewer.low >= min(TOOK[:count]) - stepped


@pytest.mark.parametrize("factor", [1, 2, 10])
def test_more_steps_take_longer(factor: int) -> None:
    """In proportion, beyond the start-up; trials of several lengths lie between the shortest and the longest."""
    before = ended([30.0, 32.0, 31.0], 10, 20.0)

    longer, both = (trial_seconds(before, steps) for steps in ([10 * factor], [10, 10 * factor]))
    assert longer is not None
    assert longer.value == pytest.approx(11 + 20 * factor)
    assert both is not None
    assert (both.low, both.high) == pytest.approx((30, longer.high))


def test_alike_trials_have_a_narrow_estimate() -> None:
    """None has an estimate before one has ended; a clock that is wrong makes none negative."""
    narrow, wrong = trial_seconds(ended([60.0, 61.0, 60.5], 4, 1.0), [4]), trial_seconds(ended([9.0], 9, 1e9), [1])

    assert narrow is not None
    assert 60 <= narrow.low <= narrow.value <= narrow.high < 62
    assert wrong is not None
    assert wrong.low > 0
    assert trial_seconds([], [4]) is None


def test_the_time_of_steps_is_without_start_up() -> None:
    """Of all attempts; an attempt that did not begin to train has none."""
    said = [
        (1, {"event": "heartbeat", "at": 50.0}),
        (1, {"event": "start", "at": 100.0, "step": 0}),
        (1, {"event": "step", "at": 104.0, "step": 2}),
        (1, {"event": "end", "at": 160.0, "step": 2}),
        (2, {"event": "heartbeat", "at": 170.0}),
        (3, {"event": "start", "at": 1000.0, "step": 2}),
        (3, {"event": "step", "at": 1007.0, "step": 5}),
    ]
    events = [Reported(at_s=2000, attempt=attempt, said=each) for attempt, each in said]

    assert stepped_s(events) == 11
    assert [stepped_s(events[:count]) for count in (0, 1, 2, 3)] == [0, 0, 0, 4]


@pytest.mark.parametrize("stops", [[1800.0], [600.0, 3000.0], [3599.0, 3600.0, 3601.0]])
def test_an_interrupted_trial_has_used_time_and_money_and_counts_once_at_its_end(stops: list[float]) -> None:
    """So no other trial starts with what it has used; what it has used before is not added again."""
    job = Job.model_validate({"method": "sft", "model": "m/m", "dataset": "d/d"})
    spending = Spending(lambda _: 2.0)

    for seconds in stops:
        spending.add("a", seconds, job, ended=False)
        assert spending.trials == 0
        assert spending.seconds == pytest.approx(seconds)
        assert spending.usd == pytest.approx(seconds / 1800)
        assert spending.used_up(StudyBudget(usd=seconds / 1801), running=0)
        assert not spending.used_up(StudyBudget(usd=seconds / 1800 + 1, trials=1), running=0)
    spending.add("a", 7200.0, job)
    spending.add("b", 3600.0, job)

    assert spending.trials == 2
    assert spending.seconds == pytest.approx(10800.0)
    assert spending.usd == pytest.approx(6.0)
