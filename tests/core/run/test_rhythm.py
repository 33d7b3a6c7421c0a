"""The silence of a training is judged by the silences that it has shown: each activity by its own, and never by less than a minute."""

from random import Random

import pytest

from holdfast.core.run.rhythm import LEAST_S, LEAST_STALL_S, WINDOW, Rhythm, follow_silence, tail_silence_s
from holdfast.core.run.training_event import (
    CheckpointSaved,
    Evaluated,
    Heartbeat,
    StepDone,
    TrainingEvent,
    TrainingStarted,
)


def rhythm(*silences: tuple[str, float]) -> Rhythm:
    made = Rhythm()
    for activity, silence_s in silences:
        made = made.after(activity, silence_s)
    return made


def test_nothing_is_said_of_what_was_never_seen() -> None:
    """The first evaluation, the first save, the download of a model may take as long as they like."""
    steps = rhythm(*[("step", 1.0)] * 50)

    assert [steps.limits(activity) for activity in ("evaluate", "save", "first-step", "load", "finish", "")] == [
        None
    ] * 6


@pytest.mark.parametrize("fast_s", [0.001, 0.5, 10.0])
def test_no_silence_below_a_minute_is_conspicuous_nor_a_stall_below_twenty(fast_s: float) -> None:
    """However fast the steps are: a disk may be busy, or the machine; a stream may be rate-limited."""
    limits = rhythm(*[("step", fast_s)] * 50).limits("step")

    assert limits is not None
    assert (limits.conspicuous_s, limits.stall_s) == (LEAST_S, LEAST_STALL_S)


def test_each_activity_has_its_own_rhythm() -> None:
    """Half an hour of evaluation is no stall where evaluations take so long, and an hour's step is one where steps take a second."""
    made = rhythm(*[("step", 1.0)] * 50, ("evaluate", 1800.0), ("save", 300.0))
    step, evaluation, save = (made.limits(activity) for activity in ("step", "evaluate", "save"))

    assert step is not None
    assert evaluation is not None
    assert save is not None
    assert step.stall_s < save.stall_s < evaluation.stall_s
    assert evaluation.conspicuous_s > 1800.0


def test_a_step_that_compiles_again_is_no_stall() -> None:
    """It may take as long as the first one, which compiled."""
    limits = rhythm(("first-step", 900.0), *[("step", 1.0)] * WINDOW).limits("step")

    assert limits is not None
    assert limits.stall_s > 2 * 900.0


def test_one_long_step_in_sixteen_is_conspicuous_neither_at_once_nor_later() -> None:
    """GRPO generates for several steps at once, the first time in the first step; so each of these is as long as it."""
    made = rhythm(("first-step", 90.0))
    for number in range(1, 100):
        limits, silence_s = made.limits("step"), 2.0 if number % 16 else 90.0
        assert limits is None or silence_s < limits.conspicuous_s, number
        made = made.after("step", silence_s)


def test_a_training_that_slows_down_is_followed() -> None:
    """Steps of a hundred seconds are as usual as those of one second were."""
    made = rhythm(*[("step", 1.0)] * 300)
    before = made.limits("step")
    after = rhythm(*[("step", 1.0)] * 300, *[("step", 100.0)] * WINDOW).limits("step")

    assert before is not None
    assert after is not None
    assert (before.usual_s, after.usual_s) == (1.0, 100.0)
    assert after.conspicuous_s == 500.0


@pytest.mark.parametrize("exponent", [2.0, 3.0, 5.0])
def test_a_heavy_tail_gets_more_room(exponent: float) -> None:
    """Of a million further silences of the same power law, none is longer than the tail of the first few hundred allows, give or take one."""
    dice = Random(exponent)  # noqa: S311 - no secret
    seen = sorted(dice.paretovariate(exponent) for _ in range(WINDOW))
    even = sorted(dice.gauss(1.0, 0.05) for _ in range(WINDOW))

    allowed_s = tail_silence_s(seen)

    assert sum(dice.paretovariate(exponent) > allowed_s for _ in range(100_000)) <= 1
    assert tail_silence_s(even) < 5.0


def test_a_few_silences_have_no_tail() -> None:
    """From three numbers nothing of the kind can be estimated."""
    assert tail_silence_s([1.0, 2.0, 3.0]) == 0.0
    assert tail_silence_s([0.0] * 100) == 0.0


@pytest.mark.parametrize(
    ("event", "activity"),
    [
        (StepDone(step=1, activity="first-step", idle_s=7.0), "first-step"),
        (StepDone(step=2, activity="step", idle_s=7.0), "step"),
        (Evaluated(idle_s=7.0), "evaluate"),
        (CheckpointSaved(idle_s=7.0), "save"),
    ],
)
def test_what_is_done_adds_its_longest_silence(event: TrainingEvent, activity: str) -> None:
    """And ends the silence there was."""
    made, doing, idle_s = follow_silence(Rhythm(), event)

    assert (made.longest, doing, idle_s) == ({activity: 7.0}, "", 0.0)


@pytest.mark.parametrize(
    "event", [StepDone(step=1), Evaluated(), CheckpointSaved(), Heartbeat(phase="train"), TrainingEvent()]
)
def test_reports_of_an_older_runtime_teach_nothing(event: TrainingEvent) -> None:
    """They have no silences, so that nothing is said of such a training."""
    assert follow_silence(Rhythm(), event) == (Rhythm(), "", 0.0)


def test_another_training_begins_anew() -> None:
    """The rhythm of the one before, with another model or a checkpoint to read, says nothing of it."""
    assert follow_silence(rhythm(("step", 1.0)), TrainingStarted()) == (Rhythm(), "", 0.0)
