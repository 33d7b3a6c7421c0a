"""A smaller batch has as many rows in a step, in the same order, in as many steps: or it says what differs."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.run.remedy import AppliedRemedy
from holdfast.engine.recover.batches import effective_batch, other_gradients, smaller_batches, smaller_evaluation
from holdfast.engine.recover.failed_job import FailedJob
from holdfast.engine.recover.replanning import with_changes
from tests.helpers.failed_jobs import failed, make_job

OOM = "cuda-oom-train-step"


def after(job: FailedJob, remedy: AppliedRemedy) -> FailedJob:
    """Return the job as the remedy leaves it, as its trainer would report it."""
    changed = with_changes(job.job, remedy.changes)
    config = {**job.started.config, **changed.train}
    return failed(changed, OOM, config=config, world_size=job.started.world_size)


@given(
    batch=st.integers(1, 48),
    accumulation=st.integers(1, 9),
    processes=st.integers(1, 8),
    rows=st.integers(1, 500),
    method=st.sampled_from(["sft", "dpo", "reward", "grpo"]),
)
def test_a_step_has_as_many_rows_and_an_epoch_as_many_steps(
    batch: int, accumulation: int, processes: int, rows: int, method: str
) -> None:
    """However often it is divided, down to one row."""
    train: dict[str, Any] = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation}
    job = failed(make_job(method, train=train), OOM, world_size=processes)

    def steps(of: FailedJob) -> int:
        batches = math.ceil(math.ceil(rows / of.count("per_device_train_batch_size")) / processes)
        return math.ceil(batches / of.count("gradient_accumulation_steps"))

    while smaller := next(smaller_batches(job), None):
        changed = after(job, smaller)
        assert changed.count("per_device_train_batch_size") < job.count("per_device_train_batch_size")
        assert (effective_batch(changed), steps(changed)) == (effective_batch(job), steps(job))
        job = changed
    assert job.count("per_device_train_batch_size") == 1


@given(
    batch=st.integers(1, 12), accumulation=st.integers(1, 4), processes=st.integers(1, 3), per=st.integers(1, 4), group=st.integers(2, 8)
)  # fmt: skip
def test_groups_of_completions_stay_whole(batch: int, accumulation: int, processes: int, per: int, group: int) -> None:
    """What GRPO asks of its batches in `GRPOConfig.__post_init__` of trl 1.16 holds afterwards if it held before."""
    per_generation = accumulation * per
    train = {
        "per_device_train_batch_size": batch,
        "gradient_accumulation_steps": accumulation,
        "steps_per_generation": per_generation,
        "num_generations": group,
    }
    job = failed(make_job("grpo", train=train), OOM, world_size=processes)
    for smaller in smaller_batches(job):
        now = after(job, smaller)
        size = now.count("per_device_train_batch_size") * processes * now.count("steps_per_generation")
        assert size == batch * processes * per_generation


@pytest.mark.parametrize(
    ("method", "train", "differs"),
    [
        ("sft", {}, False),
        ("dpo", {"loss_type": ["sigmoid"]}, False),
        ("dpo", {"loss_type": ["sigmoid", "aot"]}, True),
        ("dpo", {"loss_type": ["bco_pair"]}, True),
        ("grpo", {}, False),
        ("grpo", {"loss_type": "bnpo"}, True),
        ("reward", {}, False),
    ],
)
def test_a_loss_that_depends_on_the_batch_of_one_device_says_so(
    method: str, train: dict[str, Any], differs: bool
) -> None:
    """Its gradients are others, though a step has the same rows."""
    assert bool(other_gradients(failed(make_job(method, train=train), OOM))) == differs


@pytest.mark.parametrize(
    ("method", "train"),
    [
        ("kto", {}),
        ("sft", {"auto_find_batch_size": True}),
        ("sft", {"deepspeed": {"train_micro_batch_size_per_gpu": 8}}),
        ("sft", {"per_device_train_batch_size": 1}),
    ],
)
def test_a_batch_that_something_else_holds_is_left_alone(method: str, train: dict[str, Any]) -> None:
    """KTO pairs each row with another of its batch; DeepSpeed and the trainer's own search have sizes of their own."""
    assert not [*smaller_batches(failed(make_job(method, train=train), OOM))]


def test_dropped_rows_make_training_begin_anew() -> None:
    """A checkpoint's step means other rows then."""
    (smaller,) = smaller_batches(failed(make_job(train={"dataloader_drop_last": True}), OOM))

    assert smaller.resumes_until == 0
    assert "data_order" not in smaller.keeps


def test_an_evaluation_gets_a_smaller_batch_of_its_own() -> None:
    """Training keeps all that it had."""
    job = failed(make_job(train={"per_device_eval_batch_size": 6}), "cuda-oom-eval")
    (smaller,) = smaller_evaluation(job)

    assert {each.key: each.after for each in smaller.changes} == {
        "train.per_device_eval_batch_size": 3,
        "train.eval_accumulation_steps": 8,
    }
    assert smaller.keeps == ("effective_batch", "data_order", "optimizer", "learning_rate")


@pytest.mark.parametrize(("processes", "size"), [(1, 8), (2, 4), (8, 2)])
def test_an_evaluation_of_groups_keeps_them_whole(processes: int, size: int) -> None:
    """`(per_device_eval_batch_size * processes) % num_generations == 0`, as trl 1.16 asks."""
    train = {"per_device_eval_batch_size": 16 if processes == 1 else 8 if processes == 2 else 4, "num_generations": 8}
    job = failed(make_job("grpo", train=train), "cuda-oom-eval", world_size=processes)
    (smaller,) = smaller_evaluation(job)

    assert smaller.changes[0].after == size
