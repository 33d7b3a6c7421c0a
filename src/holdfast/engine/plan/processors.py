"""A training on the processors of a machine without a GPU: the memory that it surely needs, and its time.

Covered: float32, which is what the script of a job file computes in there. Not covered: bfloat16 on processors, which few do fast.
"""

from dataclasses import dataclass, replace
from typing import Final

from holdfast.catalog.hub.gpus import GpuCeilings
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import Interval, TimePart
from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.job_time import Workload, job_time, total_seconds
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.states import gradients_term, optimizer_term, reference_term, weights_term
from holdfast.engine.plan.step import Sharding, TrainingStep
from holdfast.engine.plan.workload import known_workload

CORE_FLOPS: Final = 50e9
"""Arithmetic per second of a core in float32. Source: 45 to 60 measured with torch 2.13 on an AMD EPYC with AVX-512 (`benchmarks.plan_processors`)."""
REACHED: Final = Interval(1.0, 0.25, 2.5)
"""Part of that which other processors reach: without AVX-512 and with shared cores less, with higher clocks more. An assumption."""
ALONE: Final = 0.5
"""Cores that do the work of all at the least: small products are not shared out, and other programs run, too. An assumption."""
BYTES_PER_S: Final = 1e10
"""Bandwidth of the memory for one core, in which an optimizer steps. Source: the same measurements."""
START_HERE_S: Final = Interval(20.0, 8.0, 60.0)
"""Imports and the data. Source: trainings of `examples/quickstart.yaml` on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorPlan:
    """A training on processors.

    Attributes:
        least_bytes: What weights, gradients, optimizer states and a reference model take of the main memory.
        parts: The parts of its time; none if it is unknown.
        no_time: Why it is unknown; empty if it is not.
    """

    least_bytes: int
    parts: tuple[TimePart, ...] = ()
    no_time: str = ""

    @property
    def seconds(self) -> Interval | None:
        """The time of all parts together; None if it is unknown."""
        return total_seconds(self.parts) if self.parts else None


def plan_here(question: PlanQuestion) -> ProcessorPlan:
    """Return the plan of a job on the processors of this machine.

    Raises:
        MissingFactError: Something that its memory depends on is not known.
    """
    step, _ = question.read_step(Sharding())
    workload, no_time = known_workload(question, step)
    return plan_on_processors(question.job, step, workload, question.this, no_time)


def plan_on_processors(
    job: Document, step: TrainingStep, workload: Workload | None, this: Hardware, no_time: str
) -> ProcessorPlan:
    """Return the plan of a training on the processors of a machine, in one process.

    Args:
        job: The job.
        step: Its training step.
        workload: How much there is to train; None if unknown.
        this: The machine.
        no_time: Why the time is not known anywhere; empty if it is.
    """
    alone = replace(step, sharding=Sharding(), checkpointing=_recomputes(job, step))
    terms = [weights_term(alone), gradients_term(alone), optimizer_term(alone)]
    least = sum(term.bytes for term in (*terms, *([reference_term(alone)] if alone.reference else [])))
    if step.quantization:
        return ProcessorPlan(least_bytes=least, no_time="products of quantized weights on processors were not measured")
    if workload is None:
        return ProcessorPlan(least_bytes=least, no_time=no_time)
    ceilings = GpuCeilings(
        usable_bytes=this.memory_bytes,
        flops=this.cores * CORE_FLOPS,
        efficiency=replace(REACHED, low=min(REACHED.low, ALONE / max(1, this.cores))),
        bytes_per_s=BYTES_PER_S,
    )
    try:
        parts = job_time(alone, workload, ceilings, start=TimePart("start", START_HERE_S, "imports and data"))
    except MissingFactError as error:
        return ProcessorPlan(least_bytes=least, no_time=error.because)
    return ProcessorPlan(least_bytes=least, parts=parts)


def _recomputes(job: Document, step: TrainingStep) -> bool:
    """Whether layers are computed again: the script of a job file does so on GPUs alone, if the job does not say."""
    if job.kind != "job":
        return step.checkpointing
    return any(
        job.get(f"train.{name}", None) is True for name in ("activation_checkpointing", "gradient_checkpointing")
    )
