"""Searching the hardware, and the changes to a job, with which it fits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.core.document import Set
from holdfast.core.hardware import Hardware
from holdfast.core.text import Place
from holdfast.engine.plan.job_time import Workload
from holdfast.engine.plan.options import PlanOption, Settings, StepVariant, judge_option, variants
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.step import Sharding, TrainingStep


@dataclass(frozen=True)
class OptionSearch:
    """The options of a job.

    Attributes:
        question: What is known of the job.
        step: Its training step.
        sharding: How its processes share that.
        workload: How much there is to train; None if unknown.
        expandable: Whether the allocator has expandable segments.
    """

    question: PlanQuestion
    step: TrainingStep
    sharding: Sharding
    workload: Workload | None
    expandable: bool

    def options(self, hardware: Iterable[Hardware]) -> list[PlanOption]:
        """Return for each machine the first variant that fits, the cheapest machine first; what cannot fit is left out.

        Machines have one GPU, or one for each process. Of a job that computes in bfloat16, those whose GPUs do not are left out.
        """
        found = []
        for machine in hardware:
            if self.question.in_bfloat16 and not all(gpu.bf16 for gpu in machine.gpus):
                continue
            changed = self._variants.get(len(machine.gpus), ())
            judged = (judge_option(each, machine, self.workload, expandable=self.expandable) for each in changed)
            if (first := next((option for option in judged if option.fits), None)) is not None:
                found.append(first)
        return sorted(found, key=_price)

    @cached_property
    def _variants(self) -> Mapping[int, Sequence[StepVariant]]:
        """The job with ever more changes that save memory, by the number of GPUs that it then takes."""
        alone = list(variants(lambda settings: self._changed_step(settings, Sharding()), self._settings_alone()))
        if self.sharding.processes == 1 or self.question.job.get("where.nodes", 1) != 1:
            return {1: alone}
        shared = list(variants(lambda settings: self._changed_step(settings, self.sharding), {}))
        return {1: alone, self.sharding.processes: shared}

    def _changed_step(self, settings: Settings, sharding: Sharding) -> TrainingStep:
        job = self.question.job
        edits = [Set(key, value) for key, value in settings.items()]
        return self.question.read_step(job.with_values(edits, Place(job.path)) if edits else job, sharding)[0]

    def _settings_alone(self) -> Settings:
        """Return what has to change for one GPU, which accumulates what several processes would do at once."""
        processes = self.sharding.processes
        if processes == 1:
            return {}
        nodes = {"where.nodes": 1} if self.question.job.get("where.nodes", 1) != 1 else {}
        return {"where.processes": 1, **nodes, "train.gradient_accumulation_steps": self.step.accumulation * processes}


def _price(option: PlanOption) -> tuple[float, int]:
    price = option.usd.value if option.usd else option.hardware.usd_per_hour
    return (float("inf") if price is None else price, len(option.settings))
