"""Planning a job: its memory, the hardware that it fits, the time and the cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.hub.jobs import timeout_s
from holdfast.catalog.models.vision import is_vision
from holdfast.core.document import Document
from holdfast.core.estimate import MemoryEstimate
from holdfast.core.finding import MissingFactError
from holdfast.core.hardware import PriceList
from holdfast.engine.plan.duration import padded_length, timeout_for
from holdfast.engine.plan.job_time import Workload
from holdfast.engine.plan.option_search import OptionSearch
from holdfast.engine.plan.options import PlanOption, StepVariant, judge_option, usable_bytes
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.sharding import count_processes, read_sharding
from holdfast.engine.plan.spelling import spell_key
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.workload import read_workload
from holdfast.engine.units import render_counted
from holdfast.results.plan import PlanTimeline

IMAGES: Final = "images are not counted: neither their tokens nor the activations of the vision tower; its weights are"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job with its estimates.

    Attributes:
        step: The training step.
        chosen: As the job is, on the hardware that it names; else the cheapest option that changes no setting, or the cheapest;
            None if nothing fits. Of a job that runs on this machine, an option there, or the job as it is.
        as_is: As the job is, on the hardware that it names or on any.
        options: Hardware and settings on which it fits, the cheapest first.
        timeout_s: A timeout that it will keep; None if its time is unknown.
        given_timeout_s: The timeout that the job gives; None if it gives none.
        no_time: Why its time is unknown; empty if it is known.
        no_hardware: Why the hardware that it names is unknown; empty if it is known.
        because: What was taken for granted.
        prices: What the flavors of Hugging Face Jobs cost.
        workload: How much there is to train; None if unknown.
        closed_form: What the closed form says, where the memory was traced; None if it was not.
        untraced: Why the step was not traced, though that was requested; empty if it was, or it was not requested.
        timeline: The memory over the traced step; None if it was not traced, or only at its peaks.
    """

    step: TrainingStep
    chosen: PlanOption | None
    as_is: PlanOption
    options: Sequence[PlanOption]
    timeout_s: int | None
    given_timeout_s: float | None = None
    no_time: str
    no_hardware: str = ""
    because: Sequence[str]
    prices: PriceList
    workload: Workload | None = None
    closed_form: MemoryEstimate | None = None
    untraced: str = ""
    timeline: PlanTimeline | None = None

    @property
    def usable_bytes(self) -> int | None:
        """What a process can have of the GPU that was chosen."""
        gpus = self.chosen.hardware.gpus if self.chosen else ()
        return usable_bytes(gpus[0]) if gpus else None


def plan_job(question: PlanQuestion) -> JobPlan:
    """Return the plan of a job.

    Raises:
        MissingFactError: Something that memory depends on is not known.
    """
    job, placed = question.job, question.placed
    processes = count_processes(job, placed)
    sharding = read_sharding(job, processes.count)
    step, because = question.read_step(job, sharding)
    expandable = question.allocator.expandable
    workload, no_time = _known_workload(question, step)
    search = OptionSearch(question, step, sharding, workload, expandable=expandable)
    on_this = search.options([question.here] if question.here else [])
    options = on_this or search.options(question.choices)
    unchanged = next((option for option in options if not option.settings), None)
    cheapest = unchanged or next(iter(options), None)
    somewhere = placed or (cheapest.hardware if cheapest else question.choices[0])
    as_is = judge_option(StepVariant(step, {}), somewhere, workload, expandable=expandable)
    if question.here:
        chosen: PlanOption | None = next(iter([] if as_is.fits else on_this), as_is)
    else:
        chosen = as_is if question.named else cheapest
    return JobPlan(
        step=step,
        chosen=chosen,
        as_is=as_is,
        options=options,
        timeout_s=timeout_for(chosen.seconds) if chosen and chosen.seconds else None,
        given_timeout_s=_given_timeout_s(job),
        no_time=no_time,
        no_hardware=question.unknown_hardware,
        prices=question.prices,
        workload=workload,
        because=[
            *([processes.because] if processes.because else []),
            *because,
            *_rehearsal_notes(question, workload),
            *_length_notes(question, step),
            *([IMAGES] if is_vision(question.model.config) else []),
            *_notes(question),
            *_evaluation_notes(step, workload),
            question.allocator.because,
        ],
    )


def _notes(question: PlanQuestion) -> Iterator[str]:
    """Yield what is to be known of GPUs that do not compute in bfloat16."""
    placed = question.placed
    if not question.in_bfloat16:
        return
    half = spell_key(question.job, "train.fp16")
    if placed and placed.gpus and not placed.gpus[0].bf16:
        yield f"{placed.gpus[0].name} emulates bfloat16, slowly; {half} is what it is fast in"
    left = [each.name for each in question.choices if len(each.gpus) == 1 and not each.gpus[0].bf16]
    if left and not question.here:
        yield f"{' and '.join(left)} are left out, as they do not compute in bfloat16 ({half} would)"


def _evaluation_notes(step: TrainingStep, workload: Workload | None) -> Iterator[str]:
    """Yield that the time has no evaluations, if the job evaluates on rows whose number is not known."""
    if step.eval_batch and workload and workload.schedule.evaluations and not workload.eval_rows:
        yield "the time has no evaluations in it: the number of their rows is not known"


def _given_timeout_s(job: Document) -> float | None:
    given = job.get("where.timeout", None)
    try:
        return None if given is None else timeout_s(str(given))
    except ValueError:
        return None


def _known_workload(question: PlanQuestion, step: TrainingStep) -> tuple[Workload | None, str]:
    """Return how much there is to train, or why that is unknown."""
    try:
        return read_workload(question, step), ""
    except MissingFactError as error:
        return None, error.because


def _rehearsal_notes(question: PlanQuestion, workload: Workload | None) -> Iterator[str]:
    """Yield what a rehearsal counted."""
    if question.rehearsed is None or workload is None:
        return
    schedule = workload.schedule
    counts = [
        render_counted(workload.steps, "step"),
        render_counted(schedule.evaluations, "evaluation"),
        render_counted(schedule.saves, "checkpoint"),
    ]
    yield f"the rehearsal of this job saw what its trainer gets: {', '.join(counts)}"


def _length_notes(question: PlanQuestion, step: TrainingStep) -> Iterator[str]:
    """Yield what the time takes rows for."""
    lengths = question.lengths
    if step.rollout:
        if lengths is None and question.unmeasured:
            yield f"prompts were not measured: {question.unmeasured}"
        if step.rollout.here:
            yield f"the time takes each completion to have {step.rollout.completion} tokens, which are generated one by one; rewards take none"
        return
    if lengths is None:
        unpacked = ", and packed into fewer" if question.job.get("train.packing", None) is True else ""
        why = f": {question.unmeasured}" if question.unmeasured else ""
        yield f"the time takes each row to have {step.length} tokens; rows may be shorter{unpacked}{why}"
        return
    measured = f"{lengths.rows:,} rows were tokenized: {lengths.mean:.0f} tokens on average"
    if lengths.packed is not None:
        yield f"{measured}; {lengths.packed:.0%} of each of {lengths.units:,} packs is filled"
    else:
        yield f"{measured}, {padded_length(step, lengths):.0f} after padding, in micro-batches of {step.rows}"
