"""Healthy trainings on a simulated clock are never ended, and those that hang are: a small part of `benchmarks.no_false_kills`."""

import pytest

from benchmarks.no_false_kills import LATE_S, simulate
from benchmarks.simulated_trainings import KINDS
from holdfast.core.run.rhythm import LEAST_S


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_no_healthy_training_is_ended(seed: int) -> None:
    """Whatever its steps are like, and whatever happens to polls, clocks and supervisors."""
    outcomes = list(simulate(2 * len(KINDS), steps=150, seed=seed))
    healthy = [one for hangs, one in outcomes if not hangs]
    noted = [one.noted_s[-1] - one.training.end_s for hangs, one in outcomes if hangs and one.noted_s]

    assert len(healthy) == len(KINDS)
    assert [one.training.kind for one in healthy if one.ended_s is not None] == []
    assert len(noted) > len(healthy) / 2
    assert min(noted) <= LEAST_S + LATE_S
