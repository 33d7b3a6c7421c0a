"""Which trials are stopped early: none that leads, none before there is something to compare, and each is judged once a rung."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.run.training_event import Evaluated
from holdfast.core.study.study import Pruning, StudyMetric
from holdfast.engine.study.pruning import Pruner

LOSS = StudyMetric.model_validate({"name": "eval_loss"})
REWARD = StudyMetric.model_validate({"name": "eval_reward"})


def evaluated(values: dict[int, float], *, name: str = "eval_loss", last: int = 10**6) -> list[Evaluated]:
    return [Evaluated(step=step, max_steps=last, metrics={name: value}) for step, value in values.items()]


def pruner(metric: StudyMetric = LOSS, **values: Any) -> Pruner:
    return Pruner(Pruning.model_validate({"min_steps": 10, **values}), metric)


@pytest.mark.parametrize(("metric", "sign"), [(LOSS, 1), (REWARD, -1)])
def test_a_trial_that_falls_behind_is_stopped_with_the_reason(metric: StudyMetric, sign: int) -> None:
    """The first pass: one in three cannot be chosen of two."""
    judging = pruner(metric)
    losses = [1.0, 9.0, 2.0, 0.5, 3.0, 0.7]
    said = [judging.judge(str(at), evaluated({10: sign * loss}, name=metric.name)) for at, loss in enumerate(losses)]
    assert [bool(each) for each in said] == [False, False, True, False, True, False]
    assert said[4] == f"at step 10 its {metric.name} of {sign * 3} is not among the best of 5 trials"


def test_a_trial_is_judged_once_a_rung() -> None:
    """By its first evaluation there; better ones that come later do not stop it before the next rung."""
    judging = pruner(factor=2)
    assert not judging.judge("a", evaluated({4: 99.0, 12: 5.0}))
    assert not judging.judge("b", evaluated({10: 4.0}))
    assert not judging.judge("a", evaluated({4: 99.0, 12: 5.0, 16: 90.0}))
    assert not judging.judge("b", evaluated({10: 4.0, 20: 3.0}))
    assert judging.judge("a", evaluated({4: 99.0, 12: 5.0, 16: 90.0, 22: 8.0})).startswith("at step 22 ")
    assert not judging.judge("a", evaluated({4: 99.0, 12: 5.0, 16: 90.0, 22: 8.0}))


def test_a_trial_at_its_last_step_is_not_stopped() -> None:
    """It has only to be saved; others are compared with it all the same."""
    judging = pruner(factor=2)
    assert not judging.judge("a", evaluated({10: 1.0}))
    assert not judging.judge("b", evaluated({10: 5.0}, last=10))
    assert judging.judge("c", evaluated({10: 4.0})).endswith("not among the best of 3 trials")


def test_what_has_no_value_is_not_judged() -> None:
    """Another metric, a value that is not finite, no evaluation."""
    judging = pruner(factor=2)
    assert not judging.judge("a", evaluated({10: 1.0}))
    broken = Evaluated(step=10, max_steps=99, metrics={"eval_loss": None}, nan=("eval_loss",))
    for others in ([], evaluated({10: 5.0}, name="eval_accuracy"), [broken]):
        assert not judging.judge("b", others)


@given(
    losses=st.lists(st.floats(0, 100), min_size=1, max_size=30, unique=True),
    factor=st.integers(2, 5),
    steps=st.sampled_from([[10], [10, 20], [5, 11, 47, 300]]),
)
def test_the_best_is_never_stopped(losses: list[float], factor: int, steps: list[int]) -> None:
    """In whatever order trials come; and of many, most do not reach the end."""
    judging, passed = pruner(factor=factor), list[float]()
    for at, loss in enumerate(losses):
        seen = evaluated(dict.fromkeys(steps, loss))
        if not any(judging.judge(str(at), seen[: count + 1]) for count in range(len(seen))):
            passed.append(loss)
    assert min(losses) in passed
    increasing = [each for at, each in enumerate(losses) if at < factor - 1 or each <= min(losses[: at + 1])]
    assert set(increasing) <= set(passed)
