"""The result of `plan`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from holdfast.core.job.scenario import ScenarioChoices
from holdfast.results import Result, ResultPart


class EstimateRange(ResultPart, frozen=True, kw_only=True):
    """A number with its bounds.

    Attributes:
        value: The best estimate.
        low: The least plausible.
        high: The most plausible.
    """

    value: float
    low: float
    high: float


class PlanTerm(ResultPart, frozen=True, kw_only=True):
    """Memory for one purpose in one phase.

    Attributes:
        name: The purpose.
        bytes: How much.
        because: The formula with its values.
    """

    name: str
    bytes: int
    because: str


class PlanPhase(ResultPart, frozen=True, kw_only=True):
    """A phase of a training step at its peak.

    Attributes:
        name: `loss`, `backward`, `optimizer`, `generation` or `evaluation`; for a traced step, also `load` and `forward`.
        bytes: Everything that is allocated.
        terms: The parts of it.
    """

    name: str
    bytes: int
    terms: Sequence[PlanTerm]


class PlanMemory(ResultPart, frozen=True, kw_only=True):
    """The memory of one process on its GPU.

    Attributes:
        peak_bytes: The memory that the card must have.
        allocated_bytes: What `torch.cuda.max_memory_allocated` will report.
        low_bytes: The least that the card must have.
        high_bytes: The most that the card must have. `fits` depends on this.
        terms: The parts of the peak, by purpose.
        phases: Each phase, with the reasons.
        traced: Whether the numbers come from a trace of the step; absent if they come from the closed form.
        reserved_bytes: What the allocator reserves, as simulated on the trace; absent if there is none.
        closed_form_bytes: The closed form's value for `allocated_bytes`; absent if `allocated_bytes` is that value.
    """

    peak_bytes: int
    allocated_bytes: int
    low_bytes: int
    high_bytes: int
    terms: Mapping[str, int]
    phases: Sequence[PlanPhase]
    traced: bool = False
    reserved_bytes: int | None = None
    closed_form_bytes: int | None = None


class OptionResult(ResultPart, frozen=True, kw_only=True):
    """One way to run the job.

    Attributes:
        hardware: The flavor, or the name in the user's own price file.
        settings: The settings that differ from the job's, by the keys of a job file.
        written: The same settings as they are written in the target: flags of a command line, arguments of a script's calls; absent if none differs.
        fits: Whether it fits.
        peak_bytes: The memory that the card must have.
        high_bytes: The most that the card must have.
        time_s: Its duration; null if unknown.
        cost_usd: Its cost; null if unknown.
        step_s: The duration of an optimizer step; absent if unknown.
        usd_per_hour: The price of an hour; absent if unknown.
        provider: Who rents it out, by the user's own price file; absent for Hugging Face Jobs and this machine.
        priced: The day of that price, as the price file says; absent if it does not say.
        launch_bound: Whether its steps wait for the host to launch operations, so that a faster GPU does not help; absent if not.
        effective_batch: The rows of an optimizer step, of all processes; absent if they are as many as the job's.
        guessed_speed: Whether its time rests on a guess of how fast its GPU is; absent if not.
        precision: How trained weights and optimizer states are kept, if not as the job keeps them; absent if they are.
    """

    hardware: str
    settings: Mapping[str, bool | int | str]
    fits: bool
    peak_bytes: int
    high_bytes: int
    time_s: float | None
    cost_usd: float | None
    step_s: float | None = None
    usd_per_hour: float | None = None
    written: str = ""
    provider: str = ""
    priced: str = ""
    launch_bound: bool = False
    effective_batch: int | None = None
    guessed_speed: bool = False
    precision: str = ""


class PlanMachine(ResultPart, frozen=True, kw_only=True):
    """This machine, for a job that does not say where it runs, or that runs here without a GPU.

    Attributes:
        gpus: The names of its GPUs.
        card_bytes: The memory that a process can have on one; null if there is no GPU.
        fits: Whether the job fits there as it is; null if there is no GPU. `holdfast run` then trains on its processors.
        cores: The cores on which it then trains; absent if there is a GPU.
        memory_bytes: The main memory; absent if there is a GPU.
        least_bytes: What weights, gradients and optimizer states take of it; absent if there is a GPU.
        time_s: How long that training takes; absent if there is a GPU, or this is unknown.
        no_time: Why it is unknown; absent if it is not.
    """

    gpus: Sequence[str]
    card_bytes: int | None
    fits: bool | None
    cores: int | None = None
    memory_bytes: int | None = None
    least_bytes: int | None = None
    time_s: EstimateRange | None = None
    no_time: str = ""


class PlanTimePart(ResultPart, frozen=True, kw_only=True):
    """A part of the time of the job.

    Attributes:
        name: `start`, `download`, `reference`, `training`, `communication`, `evaluation`, `answers`, `saving` or `push`.
        time_s: How long it takes, all together.
        because: What it rests on.
    """

    name: str
    time_s: EstimateRange
    because: str


class PlanPrices(ResultPart, frozen=True, kw_only=True):
    """The prices by which costs were computed.

    Attributes:
        source: `hub`, or `catalog` for holdfast's own table.
        day: The day on which they were read.
        because: Why the Hub's were not used; absent if they were.
    """

    source: Literal["hub", "catalog"]
    day: str
    because: str = ""


class PlanTimelinePhase(ResultPart, frozen=True, kw_only=True):
    """Where a phase begins in the timeline.

    Attributes:
        name: The phase.
        step: The step, from 1; 0 while the model is loaded.
        event: The number of the first event.
    """

    name: str
    step: int
    event: int


class PlanLiveTensors(ResultPart, frozen=True, kw_only=True):
    """Tensors that are alive at the peak, and that have the same purpose and size.

    Attributes:
        name: The purpose.
        phase: The phase in which they were allocated.
        bytes: The size of each.
        count: How many there are.
    """

    name: str
    phase: str
    bytes: int
    count: int


class PlanTimelinePeak(ResultPart, frozen=True, kw_only=True):
    """The moment at which most is allocated.

    Attributes:
        event: The number of the event.
        phase: The phase.
        step: The step.
        bytes: What is allocated.
        tensors: What is alive then, the largest first; small rests are left out.
    """

    event: int
    phase: str
    step: int
    bytes: int
    tensors: Sequence[PlanLiveTensors]


class PlanTimeline(ResultPart, frozen=True, kw_only=True):
    """The memory over the first two steps, as traced. An event is an allocation or a release.

    Attributes:
        events: How many events there are.
        at: The numbers of some of them: the lowest and the highest moments.
        reserved_bytes: What the allocator has reserved then.
        allocated_bytes: What is allocated then, by purpose.
        phases: Where phases begin.
        peak: The moment at which most is allocated.
    """

    events: int
    at: Sequence[int]
    reserved_bytes: Sequence[int]
    allocated_bytes: Mapping[str, Sequence[int]]
    phases: Sequence[PlanTimelinePhase]
    peak: PlanTimelinePeak


class CheckError(ResultPart, frozen=True, kw_only=True):
    """An error that `check` finds in the target, and that is not in the plan.

    Attributes:
        code: The rule.
        message: What is wrong.
        line: Where; absent if that has no line.
    """

    code: str
    message: str
    line: int | None = None


class UnknownEstimate(ResultPart, frozen=True, kw_only=True):
    """Something that could not be estimated.

    Attributes:
        what: `memory`, `hardware`, `time` or `cost`.
        because: Why not.
    """

    what: Literal["memory", "hardware", "time", "cost"]
    because: str


class PlanResult(Result, frozen=True, kw_only=True):
    """The memory, the time and the cost of a job, and where it fits.

    Attributes:
        path: The target.
        model: The name of the model; absent if it is unknown.
        parameters: Parameters of the model and its adapter, as a run and peft count them; null if unknown.
        trainable: Parameters that are trained; null if unknown.
        memory: The memory of one process of the job as it is; null if unknown.
        hardware: The hardware that the job names, or the cheapest that it fits; null if there is none.
        settings: The settings that have to change for this, by the keys of a job file; absent if none has to.
        written: The same settings as they are written in the target; absent if none has to change.
        has_gpu: Whether that hardware has a GPU; absent if it has.
        fits: Whether it fits there; null if unknown.
        time_s: Its duration there; null if unknown.
        time_parts: The parts of that duration; absent if it is unknown.
        cost_usd: Its cost there; null if unknown.
        timeout_s: A timeout that is long enough; null if its time is unknown.
        given_timeout_s: The job's own timeout; absent if it has none.
        short_timeout: Whether that timeout is below the upper time; absent if it is not.
        budget_usd: The budget; absent if there is none.
        over_budget: Whether its upper cost exceeds the budget; absent if it does not.
        card_bytes: The memory that a process can have on a GPU of the hardware; absent if there is no GPU.
        here: This machine; absent if the job says that it runs elsewhere, or on a GPU here.
        because: The assumptions, each with its source.
        unknown: What could not be estimated.
        options: Hardware and settings on which the job fits, the cheapest first.
        left_out: Hardware that is not among the options because its GPUs do not compute in bfloat16; absent if there is none.
        prices: The prices by which costs were computed; absent if nothing was estimated.
        untraced: Why the step was not traced, although a trace was requested; absent otherwise.
        timeline: The memory over the traced step; absent if it was not traced, or only at the peaks of its phases.
        check_errors: How many errors `check` finds without the Hub; absent if it finds none.
        errors: The first of them; absent if there are none.
        advised: Where a job for which nothing fits would fit, with settings that change it: the rows' length, what is trained, the number of
            GPUs; absent if something fits, or nothing helps.
        advice: That nothing helps; absent otherwise.
        applied: The settings that were written into the target; present with `--apply`.
        applied_as: The same settings as they were written; absent if none was.
        scenario: What the scenario of the job changed in it; absent if it names none.
    """

    verb: Literal["plan"]
    path: str
    model: str = ""
    parameters: int | None
    trainable: int | None
    memory: PlanMemory | None
    hardware: str | None
    settings: Mapping[str, bool | int | str] = {}
    written: str = ""
    has_gpu: bool = True
    fits: bool | None
    time_s: EstimateRange | None
    time_parts: Sequence[PlanTimePart] = ()
    cost_usd: EstimateRange | None
    timeout_s: int | None
    given_timeout_s: float | None = None
    short_timeout: bool = False
    budget_usd: float | None = None
    over_budget: bool = False
    card_bytes: int | None = None
    here: PlanMachine | None = None
    because: Sequence[str]
    unknown: Sequence[UnknownEstimate]
    options: Sequence[OptionResult]
    left_out: Sequence[str] = ()
    prices: PlanPrices | None = None
    advised: Sequence[OptionResult] = ()
    advice: str = ""
    applied: Mapping[str, bool | int | str] | None = None
    applied_as: str = ""
    untraced: str = ""
    timeline: PlanTimeline | None = None
    check_errors: int = 0
    errors: Sequence[CheckError] = ()
    scenario: ScenarioChoices | None = None

    @property
    def exit_code(self) -> int:
        """1 if the memory or the hardware is unknown, or the job may not fit, keep its timeout or stay within its budget.

        With what was written into it, the job fits.
        """
        return int(not (self.fits or self.applied) or self.over_budget or self.short_timeout)
