"""The batch of one process made smaller, with as many rows in each optimizer step, and what that changes beside memory.

Source: transformers 5.23 and trl 1.16, read and tried (`tests/engine/recover/test_batches.py`, `tests/app/run/test_remedied_trainings.py`). The
trainer skips `global_step * gradient_accumulation_steps` batches when it resumes, so half the batch and twice the accumulation skip the same
rows; the rows of a step are a block of the sampler's order, however it is divided; and `ceil(ceil(rows / batch) / accumulation)` steps make
an epoch, which does not change either.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.job.methods import Method
from holdfast.core.run.remedy import ALL_KEPT, AppliedRemedy, Kept, SettingChange
from holdfast.engine.recover.failed_job import FailedJob

BATCH: Final = "per_device_train_batch_size"
ACCUMULATION: Final = "gradient_accumulation_steps"
EVAL_BATCH: Final = "per_device_eval_batch_size"
OF_MICRO_BATCH: Final[Mapping[Method, frozenset[str]]] = {
    Method.DPO: frozenset({"aot", "aot_unpaired", "bco_pair"}),
    Method.GRPO: frozenset({"bnpo"}),
}
"""Losses that compare or count the rows of one batch on one device, so that a smaller one gives other gradients."""
WITHOUT_KL: Final = "apo_zero_unpaired"
"""The loss of KTO that pairs no rows."""
MOVED_TO_MEMORY: Final = 8
"""Evaluation batches after which their outputs leave the GPU."""


def effective_batch(job: FailedJob) -> int:
    """Return the rows of an optimizer step, over all processes; 0 if unknown."""
    return job.count(BATCH) * job.count(ACCUMULATION) * job.started.world_size


def smaller_batches(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield the training batch divided, with the accumulation multiplied, if that can be done."""
    batch, accumulation = job.count(BATCH), job.count(ACCUMULATION)
    factor = _smallest_factor(batch)
    if factor < 2 or accumulation < 1 or not _divides_alone(job):  # noqa: PLR2004 - a part
        return
    changes = [job.change(BATCH, batch // factor), job.change(ACCUMULATION, accumulation * factor)]
    per_generation = job.job.train.get("steps_per_generation")
    if job.job.method.generates and isinstance(per_generation, int):
        changes.append(
            SettingChange(key="train.steps_per_generation", before=per_generation, after=per_generation * factor)
        )
    drops = bool(job.setting("dataloader_drop_last"))
    yield AppliedRemedy(
        permission="batch_size",
        because=(
            f"a smaller batch needs less memory; {batch // factor} rows x {accumulation * factor} batches x "
            f"{job.started.world_size} processes are the {effective_batch(job)} rows of a step that it had"
        ),
        changes=tuple(changes),
        resumes_until=0 if drops else None,
        keeps=_kept(drops=drops),
        differs=tuple(_differences(job)),
    )


def smaller_evaluation(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield the evaluation batch divided, with its outputs moved off the GPU in time; nothing of the training changes."""
    batch, kept = job.count(EVAL_BATCH), job.setting("eval_accumulation_steps")
    target = _evaluation_batch(job, batch)
    changes = [job.change(EVAL_BATCH, target)] if target < batch else []
    if kept is None and job.has_gpu:
        changes.append(job.change("eval_accumulation_steps", MOVED_TO_MEMORY))
    if not changes:
        return
    chooses = job.setting("load_best_model_at_end") or job.job.early_stopping
    averaged = (
        "`eval_loss` is a mean over batches of evaluation rows: with smaller ones it may differ in its last digits"
    )
    chosen = ", and with it the checkpoint that counts as the best" if chooses else ""
    yield AppliedRemedy(
        permission="batch_size",
        because=f"the evaluation ran out of memory with {batch} rows in a batch",
        changes=tuple(changes),
        differs=(f"{averaged}{chosen}",) if target < batch else (),
    )


def _evaluation_batch(job: FailedJob, batch: int) -> int:
    """Return a smaller evaluation batch; with groups of completions, one that still holds whole groups."""
    group = job.count("num_generations_eval") or job.count("num_generations") if job.job.method.generates else 1
    fewer = (size for size in range(batch // 2, 0, -1) if size * job.started.world_size % max(group, 1) == 0)
    return next(fewer, batch)


def _divides_alone(job: FailedJob) -> bool:
    """True if nothing but the batch itself holds its size. KTO pairs each row with another of its batch before it trains."""
    pairs = job.job.method is Method.KTO and job.setting("loss_type") != WITHOUT_KL
    return not (pairs or job.setting("auto_find_batch_size") or "deepspeed" in job.job.train)


def _kept(*, drops: bool) -> tuple[Kept, ...]:
    return tuple(each for each in ALL_KEPT if not (drops and each in ("data_order", "learning_rate")))


def other_gradients(job: FailedJob) -> tuple[str, ...]:
    """Return why a smaller batch on a device gives other gradients, though a step has the same rows; empty if it does not."""
    method, loss = job.job.method, job.setting("loss_type")
    losses = {loss} if isinstance(loss, str) else set(loss) if isinstance(loss, list | tuple) else set[str]()
    named = sorted(losses & OF_MICRO_BATCH.get(method, frozenset()))
    return tuple(
        f"the loss `{name}` depends on the rows of one batch on one device, which are fewer now" for name in named
    )


def _differences(job: FailedJob) -> Iterator[str]:
    yield from other_gradients(job)
    if job.setting("dataloader_drop_last"):
        yield "`dataloader_drop_last` leaves out other rows at the end of an epoch, which may have more steps: training starts over"
    elif job.started.world_size > 1:
        yield "an epoch that does not divide evenly among the processes repeats fewer rows in its last step"
    if job.started.world_size > 1 and job.setting("average_tokens_across_devices") is False:
        yield "each process averages over the tokens of its own rows, which are others now"
    if _has_dropout(job):
        yield "dropout draws other values for other batches"


def _has_dropout(job: FailedJob) -> bool:
    return bool((job.job.peft or {}).get("lora_dropout"))


def _smallest_factor(count: int) -> int:
    """Return the smallest factor above 1 of a count; 1 if it has none.

    >>> [_smallest_factor(count) for count in (8, 6, 3, 1, 0)]
    [2, 2, 3, 1, 1]
    """
    return next((factor for factor in range(2, count + 1) if count % factor == 0), 1)
