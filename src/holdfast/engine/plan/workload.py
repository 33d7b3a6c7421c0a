"""How much a job trains: steps, evaluations, checkpoints; as a rehearsal counted them, or else as its settings say."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.methods import Method
from holdfast.core.plan.epoch_steps import Schedule
from holdfast.core.plan.epoch_steps import count_steps as count_rehearsed_steps
from holdfast.core.text.numbers import is_number
from holdfast.engine.plan.duration import count_steps
from holdfast.engine.plan.job_time import NO_ANSWERS, Workload, WrittenAnswers
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.reference import REFERENCED
from holdfast.engine.plan.schedule import read_schedule
from holdfast.engine.plan.step import TrainingStep

UNSET: Final[Mapping[str, Any]] = {
    "num_train_epochs": 1.0,
    "max_steps": -1,
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 1,
    "dataloader_drop_last": False,
    "num_generations": 0,
    "generation_batch_size": 0,
    "num_iterations": 1,
}
"""Arguments of a trainer that a rehearsal records, each with what it is where the trainer has none."""


@dataclass(frozen=True, slots=True)
class TrainingLength:
    """How long a training is.

    Attributes:
        steps: Its optimizer steps.
        epochs: The epochs that it ends, at least 1.
    """

    steps: int
    epochs: int


def known_workload(question: PlanQuestion, step: TrainingStep) -> tuple[Workload | None, str]:
    """Return how much there is to train, or why that is unknown."""
    try:
        return read_workload(question, step), ""
    except MissingFactError as error:
        return None, error.because


def read_workload(question: PlanQuestion, step: TrainingStep) -> Workload:
    """Return how much there is to train.

    Raises:
        MissingFactError: That is unknown.
    """
    if step.rollout and not step.rollout.here:
        raise MissingFactError("time", "how fast vLLM generates is not known")
    each = _completions(question) if step.rollout else 1
    length = _rehearsed_length(question, step) or _set_length(question, step, each)
    return Workload(
        steps=length.steps,
        lengths=question.lengths,
        schedule=read_schedule(question.job, question.api, length.steps, length.epochs, question.rehearsed_settings),
        eval_rows=each * question.eval_rows if question.eval_rows else None,
        answers=_written_answers(question),
        scored_rows=_scored_rows(question, step),
    )


def _rehearsed_length(question: PlanQuestion, step: TrainingStep) -> TrainingLength | None:
    """Return the length that a rehearsal counted; None if there was none, or it did not show that.

    The settings are those of the trainer that it made, for one process. More processes share an epoch, except that of a method that
    generates, whose batches of prompts depend on how many they are.
    """
    rehearsed, processes = question.rehearsed, step.sharding.processes
    if rehearsed is None or rehearsed.units is None or (step.rollout and processes > 1):
        return None
    schedule = _rehearsed_schedule(rehearsed.settings, processes)
    steps = count_rehearsed_steps(schedule, rehearsed.units)
    epoch = count_rehearsed_steps(replace(schedule, epochs=1.0, max_steps=None), rehearsed.units)
    return TrainingLength(steps, max(1, round(steps / epoch))) if steps and epoch else None


def _rehearsed_schedule(settings: Mapping[str, Any], processes: int) -> Schedule:
    given = {name: default if settings.get(name) is None else settings[name] for name, default in UNSET.items()}
    return Schedule(
        epochs=given["num_train_epochs"],
        max_steps=given["max_steps"] if given["max_steps"] > 0 else None,
        batch=given["per_device_train_batch_size"],
        accumulation=given["gradient_accumulation_steps"],
        processes=processes,
        drop_last=given["dataloader_drop_last"],
        generations=given["num_generations"],
        generation_batch=given["generation_batch_size"],
        iterations=given["num_iterations"],
    )


def _set_length(question: PlanQuestion, step: TrainingStep, each: int) -> TrainingLength:
    """Return the length that a job's settings and rows say.

    Args:
        question: What is known of the job.
        step: Its training step.
        each: Completions that each row gets.

    Raises:
        MissingFactError: They do not say it.
    """
    max_steps, epochs = question.setting("max_steps"), question.setting("num_train_epochs")
    if not isinstance(max_steps, int) or not is_number(epochs):
        raise MissingFactError("time", "the number of steps is not known")
    trained = question.lengths.units if question.lengths else question.trained_rows
    if trained is None and max_steps <= 0:
        raise MissingFactError("time", "the number of rows is not known")
    if trained is None:
        return TrainingLength(max_steps, 1)
    steps = count_steps(step, each * trained, epochs, max_steps)
    if not trained:
        return TrainingLength(steps, 1)
    return TrainingLength(steps, max(1, round(steps / count_steps(step, each * trained, 1, -1))))


def _scored_rows(question: PlanQuestion, step: TrainingStep) -> int:
    """Return the rows that a reference scores before the training: those that are trained and evaluated on, as far as their numbers are known."""
    scores = step.method in REFERENCED and not step.scores_reference
    return (question.trained_rows or 0) + (question.eval_rows or 0) if scores else 0


def _completions(question: PlanQuestion) -> int:
    """Return the completions that each prompt gets.

    Raises:
        MissingFactError: Their number is not known.
    """
    each = question.setting("num_generations")
    if not isinstance(each, int):
        raise MissingFactError("time", "the number of steps is not known")
    return each


def _written_answers(question: PlanQuestion) -> WrittenAnswers:
    """Return what the model of a job file writes at each evaluation; of a script, that is not known."""
    from holdfast.core.job_file.job import Samples  # of pydantic, which no script needs

    job = question.job
    if job.kind != "job" or job.get("method", None) == Method.REWARD:
        return NO_ANSWERS
    given = {name: job.get(f"samples.{name}", None) for name in ("prompts", "rows", "max_new_tokens", "metric")}
    samples = Samples(**{name: value for name, value in given.items() if value is not None})
    rows = min(samples.rows, question.eval_rows or samples.rows) if samples.metric else 0
    return WrittenAnswers(prompts=samples.prompts, rows=rows, tokens=samples.max_new_tokens)
