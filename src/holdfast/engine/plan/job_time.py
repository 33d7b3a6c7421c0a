"""The time of a whole job, part by part: start, download, training, evaluations, saving, push."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from holdfast.catalog.hub.gpus import GpuCeilings
from holdfast.core.plan.estimate import Interval, TimePart, TimePartName, exactly
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.amount import Amount, counted, seconds, size, whole
from holdfast.engine.plan.communication import sending_seconds, sent_amount
from holdfast.engine.plan.duration import forward_seconds, step_seconds, token_seconds
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.schedule import NOTHING_ELSE, TrainingSchedule
from holdfast.engine.plan.states import model_bytes
from holdfast.engine.plan.step import FLOAT16, TrainingStep
from holdfast.engine.units import render_bytes

START_S: Final = Interval(120.0, 60.0, 300.0)
"""Image, environment and imports. An assumption; only its lower end was seen (JOB101)."""
START: Final = TimePart("start", START_S, "image, environment, imports")
DOWNLOAD: Final = Interval(0.5e9, 1.0e9, 0.2e9)
"""Bytes per second; the low time has the high speed. An assumption (docs/estimates.md, Constants). Files are taken to be written as fast."""


@dataclass(frozen=True, slots=True)
class WrittenAnswers:
    """What the model writes at each evaluation.

    Attributes:
        prompts: Prompts that are completed one by one, for people to read.
        rows: Rows whose answers are measured, in batches.
        tokens: Most tokens of each.
    """

    prompts: int = 0
    rows: int = 0
    tokens: int = 0


NO_ANSWERS: Final = WrittenAnswers()


@dataclass(frozen=True, slots=True)
class Workload:
    """How much there is to train.

    Attributes:
        steps: Optimizer steps.
        lengths: How long the rows are; None if they were not measured.
        schedule: When it evaluates, saves and pushes.
        eval_rows: Rows of an evaluation, or completions of methods that generate them; None if unknown.
        answers: What the model writes at each evaluation.
        scored_rows: Rows that a reference scores before the training.
    """

    steps: int
    lengths: RowLengths | None = None
    schedule: TrainingSchedule = NOTHING_ELSE
    eval_rows: int | None = None
    answers: WrittenAnswers = NO_ANSWERS
    scored_rows: int = 0


def job_time(step: TrainingStep, workload: Workload, gpu: GpuCeilings, start: TimePart = START) -> tuple[TimePart, ...]:
    """Return the parts of the time from the start of the machine to the end of the job.

    Args:
        step: The training step.
        workload: How much there is to train.
        gpu: What the GPU reaches, or the processors.
        start: What comes before the training.

    Raises:
        MissingFactError: vLLM generates; how fast that goes is not known.
    """
    each = step_seconds(step, gpu, workload.lengths)
    weights = counted(total_parameters(step.model), "parameters") * size(FLOAT16)
    return (
        start,
        _moved("download", weights),
        *_scoring(step, workload, gpu),
        _repeated("training", whole(workload.steps, "step"), each),
        *_communication(step, workload, gpu, each),
        *_evaluations(step, workload, gpu),
        *_results(step, workload.schedule),
    )


def whole_step_seconds(step: TrainingStep, gpu: GpuCeilings, lengths: RowLengths | None) -> Interval:
    """Return the time of an optimizer step with what GPUs send one another, as far as that is known.

    Raises:
        MissingFactError: vLLM generates; how fast that goes is not known.
    """
    each, link = step_seconds(step, gpu, lengths), gpu.link_bytes_per_s
    return each + sending_seconds(step, link, each) if link else each


def total_seconds(parts: Iterable[TimePart]) -> Interval:
    """Return the time of all parts together."""
    return sum((part.seconds for part in parts), exactly(0))


def checkpoint_bytes(step: TrainingStep) -> int:
    """Return the size of a checkpoint: what is trained, or the whole model, and the states of the optimizer."""
    each = step.optimizer.bytes or step.trained_bytes
    return result_bytes(step) + round(step.trained * step.optimizer.states * each)


def result_bytes(step: TrainingStep) -> int:
    """Return the size of the result: of an adapter, its weights; else those of the model."""
    return step.trained * step.trained_bytes if step.adapter else round(model_bytes(step))


def _scoring(step: TrainingStep, workload: Workload, gpu: GpuCeilings) -> Iterator[TimePart]:
    """Yield the time in which a reference scores all rows before the training."""
    if workload.scored_rows:
        batches = math.ceil(workload.scored_rows / (step.batch * step.sharding.processes))
        yield _repeated("reference", whole(batches, "batch"), forward_seconds(step, gpu, workload.lengths))


def _communication(step: TrainingStep, workload: Workload, gpu: GpuCeilings, beside: Interval) -> Iterator[TimePart]:
    """Yield the time for which several GPUs wait for one another, if it is known how fast they are connected."""
    link = gpu.link_bytes_per_s
    if step.sharding.processes == 1 or link is None:
        return
    speed = Amount(link.value, f"{render_bytes(link.value)} a second")
    because = whole(workload.steps, "step") * sent_amount(step) / speed
    waited = exactly(workload.steps) * sending_seconds(step, link, beside)
    yield TimePart("communication", waited, because.formula)


def _evaluations(step: TrainingStep, workload: Workload, gpu: GpuCeilings) -> Iterator[TimePart]:
    count = workload.schedule.evaluations
    if not count or not step.eval_batch or not workload.eval_rows:
        return
    batches = math.ceil(workload.eval_rows / (step.eval_batch * step.sharding.processes))
    batch = forward_seconds(replace(step, batch=step.eval_batch), gpu, workload.lengths)
    yield _repeated("evaluation", whole(count, "evaluation") * whole(batches, "batch"), batch)
    yield from _answers(step, workload, gpu)


def _answers(step: TrainingStep, workload: Workload, gpu: GpuCeilings) -> Iterator[TimePart]:
    """Yield the time to write answers at evaluations: prompts one by one, and rows in batches."""
    answers, count = workload.answers, whole(workload.schedule.evaluations, "evaluation")
    batches = answers.prompts + math.ceil(answers.rows / (step.eval_batch * step.sharding.processes))
    if batches:
        written = count * whole(batches, "batch") * whole(answers.tokens, "token")
        yield _repeated("answers", written, token_seconds(step, gpu))


def _repeated(name: TimePartName, times: Amount, each: Interval) -> TimePart:
    """Return the time of what happens several times."""
    return TimePart(name, exactly(times.value) * each, (times * seconds(each.value)).formula)


def _results(step: TrainingStep, schedule: TrainingSchedule) -> Iterator[TimePart]:
    """Yield the time to save checkpoints and the result, and to push it."""
    checkpoint, result = (
        Amount(each, f"{render_bytes(each)}{what}")
        for each, what in ((checkpoint_bytes(step), ""), (result_bytes(step), " of the result"))
    )
    yield _moved("saving", whole(schedule.saves, "checkpoint") * checkpoint + result)
    if schedule.pushes:
        yield _moved("push", result)


def _moved(name: TimePartName, moved: Amount) -> TimePart:
    """Return the time to move bytes."""
    taken = Interval(*(moved.value / speed for speed in (DOWNLOAD.value, DOWNLOAD.low, DOWNLOAD.high)))
    each = moved / Amount(DOWNLOAD.value, f"{render_bytes(DOWNLOAD.value)} a second")
    return TimePart(name, taken, each.formula)
