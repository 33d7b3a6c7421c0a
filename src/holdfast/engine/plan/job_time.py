"""The time of a whole job, part by part: start, download, training, evaluations, saving, push."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from holdfast.catalog.hub.gpus import GpuCeilings
from holdfast.core.estimate import Interval, TimePart, exactly
from holdfast.core.row_lengths import RowLengths
from holdfast.engine.plan.duration import forward_seconds, step_seconds, token_seconds
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.schedule import NOTHING_ELSE, TrainingSchedule
from holdfast.engine.plan.states import model_bytes
from holdfast.engine.plan.step import FLOAT16, TrainingStep
from holdfast.engine.units import render_bytes, render_counted

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
    """

    steps: int
    lengths: RowLengths | None = None
    schedule: TrainingSchedule = NOTHING_ELSE
    eval_rows: int | None = None
    answers: WrittenAnswers = NO_ANSWERS


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
    size = FLOAT16 * total_parameters(step.model)
    each = step_seconds(step, gpu, workload.lengths)
    steps = f"{workload.steps:,} steps x {each.value:.3g} s"
    return (
        start,
        TimePart("download", _moving(size), f"{render_bytes(size)} of weights"),
        TimePart("training", exactly(workload.steps) * each, steps),
        *_evaluations(step, workload, gpu),
        *_results(step, workload.schedule),
    )


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


def _evaluations(step: TrainingStep, workload: Workload, gpu: GpuCeilings) -> Iterator[TimePart]:
    count = workload.schedule.evaluations
    if not count or not step.eval_batch or not workload.eval_rows:
        return
    batches = math.ceil(workload.eval_rows / (step.eval_batch * step.sharding.processes))
    batch = forward_seconds(replace(step, batch=step.eval_batch), gpu, workload.lengths)
    because = f"{count:,} x {batches:,} batches of {step.eval_batch} rows"
    yield TimePart("evaluation", exactly(count * batches) * batch, because)
    yield from _answers(step, workload, gpu)


def _answers(step: TrainingStep, workload: Workload, gpu: GpuCeilings) -> Iterator[TimePart]:
    """Yield the time to write answers at evaluations: prompts one by one, and rows in batches."""
    answers, count = workload.answers, workload.schedule.evaluations
    batches = answers.prompts + math.ceil(answers.rows / (step.eval_batch * step.sharding.processes))
    if batches:
        because = f"{count:,} x {batches:,} batches of up to {answers.tokens:,} tokens"
        yield TimePart("answers", exactly(count * batches * answers.tokens) * token_seconds(step, gpu), because)


def _results(step: TrainingStep, schedule: TrainingSchedule) -> Iterator[TimePart]:
    """Yield the time to save checkpoints and the result, and to push it."""
    checkpoint, result = checkpoint_bytes(step), result_bytes(step)
    because = f"{render_counted(schedule.saves, 'checkpoint')} of {render_bytes(checkpoint)}, and the result"
    yield TimePart("saving", _moving(schedule.saves * checkpoint + result), because)
    if schedule.pushes:
        yield TimePart("push", _moving(result), render_bytes(result))


def _moving(size: float) -> Interval:
    return Interval(size / DOWNLOAD.value, size / DOWNLOAD.low, size / DOWNLOAD.high)
