"""Planning a job: its memory, the hardware that it fits, the time and the cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.document import Document
from holdfast.core.finding import MissingFactError
from holdfast.core.hardware import Hardware
from holdfast.core.strict_document import StrictDocument
from holdfast.engine.plan.duration import count_steps, timeout_for
from holdfast.engine.plan.options import PlanOption, StepVariant, judge_option, search_options
from holdfast.engine.plan.reading import JobModel, StepReader
from holdfast.engine.plan.step import Sharding, ShardingStrategy, TrainingStep

ALLOCATOR: Final = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
EXPANDABLE: Final = "expandable_segments:True"
ADVICE: Final = f"the allocator is taken as torch's default; {ALLOCATOR[1]}={EXPANDABLE} would need less"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What is known of a job that is to be planned.

    Attributes:
        job: The job; what its source hides is not guessed.
        api: The versions that it gets.
        model: Its model.
        rows: Rows of its dataset; None if unknown.
        named: The hardware that it names; None if it names none.
        choices: Hardware to choose from.
    """

    job: StrictDocument
    api: Api
    model: JobModel
    rows: int | None
    named: Hardware | None
    choices: Sequence[Hardware]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job with its estimates.

    Attributes:
        step: The training step.
        chosen: As the job is, on the hardware that it names; else the cheapest option that changes no setting, or the cheapest;
            None if nothing fits.
        as_is: As the job is, on the hardware that it names or on any: its memory does not depend on that.
        options: Hardware and settings on which it fits, the cheapest first.
        timeout_s: A timeout that it will keep; None if its time is unknown.
        no_time: Why its time is unknown; empty if it is known.
        because: What was taken for granted.
    """

    step: TrainingStep
    chosen: PlanOption | None
    as_is: PlanOption
    options: Sequence[PlanOption]
    timeout_s: int | None
    no_time: str
    because: Sequence[str]


def plan_job(question: PlanQuestion) -> JobPlan:
    """Return the plan of a job.

    Raises:
        MissingFactError: Something that memory depends on is not known.
    """
    reader = StepReader(question.job, question.api, question.model, sharding_of(question.job, question.named))
    step = reader.read()
    _refuse_hidden(question.job)
    expandable = uses_expandable_segments(question.job)
    steps, no_time = _steps(question, step)
    options = search_options(step, question.choices, steps, expandable=expandable)
    as_is = judge_option(StepVariant(step, {}), question.named or question.choices[0], steps, expandable=expandable)
    unchanged = (option for option in options if not option.settings)
    chosen = as_is if question.named else next(unchanged, next(iter(options), None))
    return JobPlan(
        step=step,
        chosen=chosen,
        as_is=as_is,
        options=options,
        timeout_s=timeout_for(chosen.seconds, step) if chosen and chosen.seconds else None,
        no_time=no_time,
        because=(*reader.because, *(() if expandable else (ADVICE,))),
    )


def _refuse_hidden(job: StrictDocument) -> None:
    """Refuse a step that was read from values of which a part is hidden.

    Raises:
        MissingFactError: Such a value was read.
    """
    for key, hidden in job.hidden_reads.items():
        raise MissingFactError(key, hidden.because)


def sharding_of(job: Document, named: Hardware | None) -> Sharding:
    """Return how the processes of a job share its work: one per GPU of the hardware that it names, unless it says how many."""
    asked = job.get("where.processes", None)
    processes = asked if isinstance(asked, int) else len(named.gpus) if named else 1
    if processes <= 1:
        return Sharding()
    strategy: ShardingStrategy = job.get("where.strategy", None) or "ddp"
    return Sharding(strategy=strategy, processes=processes, float32_shards=strategy == "fsdp")


def uses_expandable_segments(job: Document) -> bool:
    """Whether a job sets the allocator to expandable segments."""
    return any(EXPANDABLE in str(job.get(f"environment.variables.{name}", "")) for name in ALLOCATOR)


def _steps(question: PlanQuestion, step: TrainingStep) -> tuple[int | None, str]:
    """Return the number of optimizer steps, or why that is unknown."""
    if step.rollout:
        return None, "how fast completions are generated is not known"
    try:
        max_steps = setting(question.job, "max_steps", question.api)
        epochs = setting(question.job, "num_train_epochs", question.api)
    except MissingFactError as error:
        return None, error.because
    if not isinstance(max_steps, int) or not isinstance(epochs, int | float):
        return None, "the number of steps cannot be told"
    rows = question.job.get("dataset.rows", None) or question.rows
    if max_steps <= 0 and not isinstance(rows, int):
        return None, "the number of rows is not known"
    trained = (rows or 0) * (1 - (question.job.get("dataset.eval_fraction", None) or 0))
    return count_steps(step, round(trained), epochs, max_steps), ""
