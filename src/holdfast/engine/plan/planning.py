"""Planning a job: its memory, the hardware that it fits, the time and the cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.catalog.hub.jobs import timeout_s
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.core.plan.hardware import PriceList
from holdfast.engine.plan.advice import advise, explain_misfit
from holdfast.engine.plan.assumptions import list_assumptions
from holdfast.engine.plan.duration import timeout_for
from holdfast.engine.plan.job_time import Workload
from holdfast.engine.plan.option_search import OptionSearch
from holdfast.engine.plan.options import PlanOption, StepVariant, judge_option, usable_bytes
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.sharding import count_processes, read_sharding
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.workload import known_workload
from holdfast.results.plan import PlanTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job with its estimates.

    Attributes:
        step: The training step.
        chosen: As the job is, on the hardware that it names; else the cheapest option; None if nothing fits. Of a job that runs on this
            machine, an option there, or the job as it is.
        as_is: As the job is, on the hardware that it names or on any.
        options: Hardware and settings on which it fits, the cheapest first.
        left_out: Hardware that is no option because its GPUs do not compute in bfloat16, as the job does.
        advised: What would fit with a change of the job, if nothing fits without.
        advice: Why nothing helps; empty if something fits or would fit.
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
    left_out: Sequence[str] = ()
    advised: Sequence[PlanOption] = ()
    advice: str = ""
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
    def timeout_s(self) -> int | None:
        """A timeout that it will keep; None if its time is unknown."""
        return timeout_for(self.chosen.seconds) if self.chosen and self.chosen.seconds else None

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
    step, because = question.read_step(sharding)
    workload, no_time = known_workload(question, step)
    search = OptionSearch(question, step, sharding, workload)
    on_this = search.options(filter(None, [question.here]))
    options = on_this or search.options(question.choices)
    advised = [] if options else advise(search)
    cheapest = next(iter(options), None)
    somewhere = placed or (cheapest.hardware if cheapest else question.choices[0])
    as_is = judge_option(StepVariant(step, {}), somewhere, workload, expandable=question.allocator.expandable)
    chosen = _choose(question, as_is, on_this, cheapest)
    return JobPlan(
        step=step,
        chosen=chosen,
        as_is=as_is,
        options=options,
        left_out=() if on_this else _left_out(question),
        advised=advised,
        advice="" if options or advised else explain_misfit(search),
        given_timeout_s=_given_timeout_s(job),
        no_time=no_time,
        no_hardware=question.unknown_hardware,
        prices=question.prices,
        workload=workload,
        because=[*filter(None, [processes.because]), *because, *list_assumptions(question, step, workload)],
    )


def _choose(
    question: PlanQuestion, as_is: PlanOption, on_this: Sequence[PlanOption], cheapest: PlanOption | None
) -> PlanOption | None:
    """Return what a plan is of: the job as it is where it is placed, or fitted to this machine; else the cheapest option."""
    if question.here:
        return as_is if as_is.fits or not on_this else on_this[0]
    return as_is if question.named else cheapest


def _left_out(question: PlanQuestion) -> tuple[str, ...]:
    """Return the hardware whose GPUs do not compute in bfloat16, where the job does."""
    if not question.in_bfloat16:
        return ()
    return tuple(each.name for each in question.choices if len(each.gpus) == 1 and not each.gpus[0].bf16)


def _given_timeout_s(job: Document) -> float | None:
    given = job.get("where.timeout", None)
    try:
        return None if given is None else timeout_s(str(given))
    except ValueError:
        return None
