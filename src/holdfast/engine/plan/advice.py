"""What to change in a job that fits no hardware. Each change is planned, and only one with which the job fits is advised."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.catalog.models.lora_targets import ALL_LINEAR
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import ABSENT
from holdfast.core.plan.allocator import ALLOCATOR, EXPANDABLE
from holdfast.engine.plan.allocator_setting import AllocatorSetting
from holdfast.engine.plan.option_search import OptionSearch, price_of
from holdfast.engine.plan.options import PlanOption, Settings
from holdfast.engine.plan.reading import LENGTHS
from holdfast.engine.plan.states import gradients_term, optimizer_term, weights_term
from holdfast.engine.plan.step import Sharding, ShardingStrategy, TrainingStep
from holdfast.engine.plan.workload import known_workload
from holdfast.engine.units import render_bytes

FEWEST_TOKENS: Final = 64
"""Shorter rows are not tried."""
ADAPTER: Final[Settings] = {"peft.r": 16, "peft.target_modules": ALL_LINEAR}
ADAPTER_OF_COMMAND: Final[Settings] = {
    "train.use_peft": True,
    "train.lora_r": 16,
    "train.lora_target_modules": ALL_LINEAR,
}
EXPANDS: Final[Settings] = {f"environment.variables.{ALLOCATOR}": EXPANDABLE}


@dataclass(frozen=True, slots=True)
class JobChange:
    """A change of a job that alters more than the options of a plan may.

    Attributes:
        settings: The changed settings.
        sharding: How its processes share it then; None if that does not change.
    """

    settings: Settings
    sharding: Sharding | None = None

    def __add__(self, other: "JobChange") -> "JobChange":
        return JobChange({**self.settings, **other.settings}, other.sharding or self.sharding)


AS_IT_IS: Final = JobChange({})


def advise(search: OptionSearch) -> list[PlanOption]:
    """Return the changes with which a job fits that fits nothing, the cheapest first; none if nothing that is tried helps.

    Tried are expandable segments, shorter rows, an adapter, and more GPUs that share the model; if none of these helps alone, an adapter
    and more GPUs; and then shorter rows, too.

    Args:
        search: The search in which the job fits nothing.
    """
    adapted, shared = list(_adapted(search)), list(_shared(search))
    alone = [_cheapest(search, changes) for changes in (_expanding(search), adapted, shared)]
    found = [option for option in (*alone, _shortened(search, [AS_IT_IS])) if option]
    both = [first + second for first in adapted or [AS_IT_IS] for second in shared]
    if not found:
        found = list(filter(None, [_cheapest(search, both) or _shortened(search, both or adapted)]))
    return sorted(found, key=price_of)


def explain_misfit(search: OptionSearch) -> str:
    """Return that nothing helps a job, what was tried, and how much it needs in any case."""
    step, shared = search.step, next(_shared(search), None)
    tried = [
        *(["an adapter"] if step.adapter is None else []),
        *([f"{'completions' if step.rollout else 'rows'} of {FEWEST_TOKENS} tokens"] if _shorter(search) else []),
        *([f"{shared.settings['where.strategy']} on all GPUs of a machine"] if shared else []),
    ]
    states = sum(term.bytes for term in (weights_term(step), gradients_term(step), optimizer_term(step)))
    none = (
        f"`plan` tried {', '.join(tried)}: it fits with none of these"
        if tried
        else "`plan` knows no change with which it fits"
    )
    return f"{none}. Weights, gradients and optimizer states of a process are {render_bytes(states)}."


def _cheapest(search: OptionSearch, changes: Iterable[JobChange]) -> PlanOption | None:
    return min((option for change in changes for option in _planned(search, change)), key=price_of, default=None)


def _shortened(search: OptionSearch, beside: Sequence[JobChange]) -> PlanOption | None:
    """Return the cheapest option with the longest rows of those that are tried, with other changes beside; None if the shortest do not help."""
    tried = [[each + change for each in beside] for change in _shorter(search)]
    if not tried or _cheapest(search, tried[-1]) is None:
        return None
    return next(filter(None, (_cheapest(search, changes) for changes in tried)))


def _planned(search: OptionSearch, change: JobChange) -> list[PlanOption]:
    """Return the options of the changed job, with the settings of the change among theirs."""
    question = search.question.with_settings(change.settings)
    if EXPANDS.keys() <= change.settings.keys():
        question = replace(question, allocator=AllocatorSetting(expandable=True, because=""))
    sharding = change.sharding or search.sharding
    try:
        step, _ = question.read_step(sharding)
    except MissingFactError:
        return []
    changed = OptionSearch(question, step, sharding, known_workload(question, step)[0])
    return [
        replace(option, settings={**change.settings, **option.settings}) for option in changed.options(question.choices)
    ]


def _expanding(search: OptionSearch) -> Iterator[JobChange]:
    """Yield expandable segments for a program, whose allocator is taken to have the default: `holdfast run` sets them."""
    question = search.question
    if not (question.allocator.expandable or question.job.kind == "job" or search.step.rollout):
        yield JobChange(EXPANDS)


def _shorter(search: OptionSearch) -> list[JobChange]:
    """Return ever shorter rows; of methods that generate, ever shorter completions."""
    rollout = search.step.rollout
    length = rollout.completion if rollout else search.step.length
    halves = [length >> power for power in range(1, length.bit_length()) if length >> power > FEWEST_TOKENS]
    lengths = [*halves, FEWEST_TOKENS] if length > FEWEST_TOKENS else []
    return [JobChange({f"train.{_length_name(search)}": each}) for each in lengths]


def _length_name(search: OptionSearch) -> str:
    """Return the setting that cuts the rows of a job: an older name wins where it is given."""
    if search.step.rollout:
        return "max_completion_length"
    given = (name for name in LENGTHS if search.question.job.get(f"train.{name}") is not ABSENT)
    return next(given, LENGTHS[-1])


def _adapted(search: OptionSearch) -> Iterator[JobChange]:
    """Yield a LoRA adapter on all linear projections, for a job that trains the model itself."""
    if search.step.adapter is None:
        of_command = search.question.job.kind == "command"
        yield JobChange(ADAPTER_OF_COMMAND if of_command else ADAPTER)


def _shared(search: OptionSearch) -> Iterator[JobChange]:
    """Yield the job shared by all GPUs of machines that have more than it has processes. Weights in few bits are not shared: that was not tried."""
    step = search.step
    if step.quantization:
        return
    strategy: ShardingStrategy = "zero3" if step.sharding.by_deepspeed else "fsdp"
    for count in sorted({len(each.gpus) for each in search.question.choices}):
        if count > 1 and (count, strategy) != (step.sharding.processes, step.sharding.strategy):
            settings = {"where.strategy": strategy, "where.processes": count, **_batches(step, count)}
            nodes = {"where.nodes": 1} if search.question.job.get("where.nodes", 1) != 1 else {}
            yield JobChange({**settings, **nodes}, Sharding(strategy=strategy, processes=count))


def _batches(step: TrainingStep, processes: int) -> Settings:
    """Return the batch and the accumulation of each of some processes, which keep the effective batch if they can divide it; else it grows."""
    rows = -(-step.effective_batch // processes)
    batch = step.batch if step.rollout else max(each for each in range(1, step.batch + 1) if rows % each == 0)
    given = {
        "train.per_device_train_batch_size": (step.batch, batch),
        "train.gradient_accumulation_steps": (step.accumulation, max(1, rows // batch)),
    }
    return {key: after for key, (before, after) in given.items() if before != after}
