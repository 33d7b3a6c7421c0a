"""Planning a job: its memory, the hardware that it fits, the time and the cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.document import Document, Set
from holdfast.core.finding import MissingFactError
from holdfast.core.hardware import Hardware
from holdfast.core.strict_document import StrictDocument
from holdfast.core.text import Place
from holdfast.engine.plan.duration import count_steps, timeout_for
from holdfast.engine.plan.options import PlanOption, Settings, StepVariant, judge_option, search_options, variants
from holdfast.engine.plan.reading import JobModel, StepReader
from holdfast.engine.plan.step import Sharding, ShardingStrategy, TrainingStep

ALLOCATOR: Final = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
EXPANDABLE: Final = "expandable_segments:True"
ADVICE: Final = f"the allocator is taken as torch's default; {ALLOCATOR[1]}={EXPANDABLE} would need less"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What is known of a job that is to be planned.

    Attributes:
        job: The job.
        api: The versions that it gets.
        model: Its model.
        rows: Rows of its dataset; None if unknown.
        named: The hardware that it names; None if it names none.
        here: This machine, where the job names it as its backend; perhaps without a GPU.
        choices: Hardware to choose from.
    """

    job: Document
    api: Api
    model: JobModel
    rows: int | None
    named: Hardware | None
    here: Hardware | None = None
    choices: Sequence[Hardware]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job with its estimates.

    Attributes:
        step: The training step.
        chosen: As the job is, on the hardware that it names; else the cheapest option that changes no setting, or the cheapest;
            None if nothing fits. Of a job that runs on this machine, an option there, or the job as it is.
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
    placed = question.here or question.named
    step, because = _read(question, question.job, sharding_of(question.job, placed))
    expandable = uses_expandable_segments(question.job)
    steps, no_time = _steps(question, step)

    def changed_step(settings: Settings) -> TrainingStep:
        edits = [Set(key, value) for key, value in settings.items()]
        changed = question.job.with_values(edits, Place(question.job.path)) if edits else question.job
        return _read(question, changed, Sharding())[0]

    changes = list(variants(changed_step, _alone(question.job, step)))
    on_this = search_options(changes, [question.here] if question.here else [], steps, expandable=expandable)
    options = on_this or search_options(changes, question.choices, steps, expandable=expandable)
    as_is = judge_option(StepVariant(step, {}), placed or question.choices[0], steps, expandable=expandable)
    unchanged = (option for option in options if not option.settings)
    if question.here:
        chosen: PlanOption | None = next(iter([] if as_is.fits else on_this), as_is)
    else:
        chosen = as_is if question.named else next(unchanged, next(iter(options), None))
    return JobPlan(
        step=step,
        chosen=chosen,
        as_is=as_is,
        options=options,
        timeout_s=timeout_for(chosen.seconds, step) if chosen and chosen.seconds else None,
        no_time=no_time,
        because=(*because, *(() if expandable else (ADVICE,))),
    )


def _read(question: PlanQuestion, job: Document, sharding: Sharding) -> tuple[TrainingStep, list[str]]:
    """Return the step of a job and what was taken for granted; what the source hides is not guessed.

    Raises:
        MissingFactError: A hidden value was read, or something that memory depends on is not known.
    """
    strict = StrictDocument.of(job)
    reader = StepReader(strict, question.api, question.model, sharding)
    step = reader.read()
    for key, hidden in strict.hidden_reads.items():
        raise MissingFactError(key, hidden.because)
    return step, reader.because


def _alone(job: Document, step: TrainingStep) -> Settings:
    """Return what has to change for one GPU, which accumulates what several processes would do at once."""
    processes = step.sharding.processes
    if processes == 1:
        return {}
    nodes = {"where.nodes": 1} if job.get("where.nodes", 1) != 1 else {}
    return {"where.processes": 1, **nodes, "train.gradient_accumulation_steps": step.accumulation * processes}


def sharding_of(job: Document, placed: Hardware | None) -> Sharding:
    """Return how the processes of a job share its work: one per GPU of the hardware that it names, unless it says how many."""
    asked, nodes = job.get("where.processes", None), job.get("where.nodes", None)
    each = asked if isinstance(asked, int) else max(1, len(placed.gpus)) if placed else 1
    processes = each * (nodes if isinstance(nodes, int) else 1)
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
