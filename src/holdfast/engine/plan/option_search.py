"""Searching the hardware, and the changes to a job, with which it fits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.job_time import Workload
from holdfast.engine.plan.options import PlanOption, Settings, StepVariant, fits_hardware, judge_option, variants
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
    """

    question: PlanQuestion
    step: TrainingStep
    sharding: Sharding
    workload: Workload | None

    def options(self, hardware: Iterable[Hardware]) -> list[PlanOption]:
        """Return for each machine the first variant that fits, the cheapest machine first; what cannot fit is left out.

        Machines have one GPU, or one for each process.
        """
        machines = list(hardware)
        found = self.fitting(self._settings_alone(), Sharding(), machines)
        if self.sharding.processes > 1 and self.question.job.get("where.nodes", 1) == 1:
            found += self.fitting({}, self.sharding, machines)
        return sorted(found, key=price_of)

    def fitting(self, settings: Settings, sharding: Sharding, hardware: Iterable[Hardware]) -> list[PlanOption]:
        """Return for each machine with a GPU for each process the first variant of the job with some settings that fits.

        Of a job that computes in bfloat16, machines whose GPUs do not are left out.

        Args:
            settings: What is changed in any case.
            sharding: How the processes of the changed job share it.
            hardware: The machines.
        """
        changed = list(variants(lambda more: self._changed_step(more, sharding), settings))
        able = (each for each in hardware if len(each.gpus) == sharding.processes and self._computes(each))
        judged = (self._first_fitting(changed, machine) for machine in able)
        return [option for option in judged if option]

    def _first_fitting(self, changed: Sequence[StepVariant], machine: Hardware) -> PlanOption | None:
        expandable = self.question.allocator.expandable
        fitting = (each for each in changed if fits_hardware(each.memory(machine, expandable=expandable), machine))
        first = next(fitting, None)
        return judge_option(first, machine, self.workload, expandable=expandable) if first else None

    def _computes(self, machine: Hardware) -> bool:
        """Whether a machine computes in the job's precision."""
        return not self.question.in_bfloat16 or all(gpu.bf16 for gpu in machine.gpus)

    def _changed_step(self, settings: Settings, sharding: Sharding) -> TrainingStep:
        return self.question.with_settings(settings).read_step(sharding)[0]

    def _settings_alone(self) -> Settings:
        """Return what has to change for one GPU, which accumulates what several processes would do at once."""
        processes = self.sharding.processes
        if processes == 1:
            return {}
        nodes = {"where.nodes": 1} if self.question.job.get("where.nodes", 1) != 1 else {}
        return {"where.processes": 1, **nodes, "train.gradient_accumulation_steps": self.step.accumulation * processes}


def price_of(option: PlanOption) -> tuple[bool, float, int]:
    """Return what options are sorted by: the cost, or that of a step, or the price of an hour; of equal ones, those that change less come first."""
    hourly = option.hardware.usd_per_hour
    if option.usd or hourly is None:
        price = option.usd.value if option.usd else float("inf")
    else:
        price = hourly * (option.step_seconds.value if option.step_seconds else 1)
    return (option.step_seconds is None, price, len(option.settings))
