"""How much a job trains: steps, evaluations, checkpoints; as a rehearsal counted them, or else as its settings say."""

from dataclasses import dataclass, replace

from holdfast.core.epoch_steps import Schedule
from holdfast.core.epoch_steps import count_steps as count_rehearsed_steps
from holdfast.core.finding import MissingFactError
from holdfast.core.methods import Method
from holdfast.core.numbers import is_number
from holdfast.engine.plan.duration import count_steps
from holdfast.engine.plan.job_time import NO_ANSWERS, Workload, WrittenAnswers
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.schedule import read_schedule
from holdfast.engine.plan.step import TrainingStep


@dataclass(frozen=True, slots=True)
class TrainingLength:
    """How long a training is.

    Attributes:
        steps: Its optimizer steps.
        epochs: The epochs that it ends, at least 1.
    """

    steps: int
    epochs: int


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
    )


def _rehearsed_length(question: PlanQuestion, step: TrainingStep) -> TrainingLength | None:
    """Return the length that a rehearsal counted; None if there was none, or it did not show that.

    The settings are those of the trainer that it made, for one process. More processes share an epoch, except that of a method that
    generates, whose batches of prompts depend on how many they are.
    """
    rehearsed, processes = question.rehearsed, step.sharding.processes
    if rehearsed is None or rehearsed.units is None or (step.rollout and processes > 1):
        return None
    given = rehearsed.settings
    most = given.get("max_steps") or 0
    schedule = Schedule(
        epochs=given.get("num_train_epochs") or 1.0,
        max_steps=most if most > 0 else None,
        batch=given.get("per_device_train_batch_size") or 1,
        accumulation=given.get("gradient_accumulation_steps") or 1,
        processes=processes,
        drop_last=given.get("dataloader_drop_last") is True,
        generations=given.get("num_generations") or 0,
        generation_batch=given.get("generation_batch_size") or 0,
        iterations=given.get("num_iterations") or 1,
    )
    steps = count_rehearsed_steps(schedule, rehearsed.units)
    epoch = count_rehearsed_steps(replace(schedule, epochs=1.0, max_steps=None), rehearsed.units)
    return TrainingLength(steps, max(1, round(steps / epoch))) if steps and epoch else None


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
    if trained is None:
        if max_steps <= 0:
            raise MissingFactError("time", "the number of rows is not known")
        return TrainingLength(max_steps, 1)
    steps = count_steps(step, each * trained, epochs, max_steps)
    return TrainingLength(steps, max(1, round(steps / count_steps(step, each * trained, 1, -1))))


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
    from holdfast.core.job import Samples  # of pydantic, which no script needs

    job = question.job
    if job.kind != "job" or job.get("method", None) == Method.REWARD:
        return NO_ANSWERS
    given = {name: job.get(f"samples.{name}", None) for name in ("prompts", "rows", "max_new_tokens", "metric")}
    samples = Samples(**{name: value for name, value in given.items() if value is not None})
    rows = min(samples.rows, question.eval_rows or samples.rows) if samples.metric else 0
    return WrittenAnswers(prompts=samples.prompts, rows=rows, tokens=samples.max_new_tokens)
