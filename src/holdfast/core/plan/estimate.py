"""Estimates: amounts with their reasons, and how far off they may be."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.plan.hardware import PriceList

TermName = Literal["weights", "gradients", "optimizer", "activations", "logits", "reference", "generation", "overhead"]
"""What memory is used for. The JSON of `plan` has one key for each."""
PhaseName = Literal["generation", "load", "forward", "loss", "backward", "optimizer", "evaluation"]
"""A part of a training step, or of what happens before and between steps; the closed form has neither `load` nor `forward`."""
TimePartName = Literal[
    "start", "download", "reference", "training", "communication", "evaluation", "answers", "saving", "push"
]
"""What a job spends its time with."""
TERM_NAMES: Final[tuple[TermName, ...]] = (
    *("weights", "gradients", "optimizer", "activations"),
    *("logits", "reference", "generation", "overhead"),
)


@dataclass(frozen=True, slots=True)
class MemoryTerm:
    """Memory for one purpose.

    Attributes:
        name: The purpose.
        bytes: How much.
        because: The formula with its values, for people.
    """

    name: TermName
    bytes: int
    because: str


@dataclass(frozen=True, slots=True)
class MemoryPhase:
    """What is allocated when a phase needs most.

    Attributes:
        name: The phase.
        terms: Everything that is alive then.
    """

    name: PhaseName
    terms: tuple[MemoryTerm, ...]

    @property
    def bytes(self) -> int:
        """All of it together."""
        return sum(term.bytes for term in self.terms)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is not known exactly.

    Attributes:
        value: The best estimate.
        low: The least that is plausible.
        high: The most that is plausible.
    """

    value: float
    low: float
    high: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Interval") -> "Interval":
        return Interval(self.value * other.value, self.low * other.low, self.high * other.high)


def exactly(value: float) -> Interval:
    """Return a number that is known."""
    return Interval(value, value, value)


@dataclass(frozen=True, slots=True)
class TimePart:
    """A part of the time of a job.

    Attributes:
        name: What it goes into.
        seconds: How long that takes, all together.
        because: What it rests on, for people.
    """

    name: TimePartName
    seconds: Interval
    because: str


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The memory of one process on its GPU.

    Attributes:
        phases: Each phase at its peak, in the order in which a step goes through them.
        card: The memory that the card must have: the allocator's blocks, the CUDA context and all else that is not a tensor.
        beside: What of that is not in any phase, with the reasons.
        reserved: What the simulated allocator reserves, in bytes; None if the step was not traced.
    """

    phases: tuple[MemoryPhase, ...]
    card: Interval
    beside: tuple[MemoryTerm, ...]
    reserved: int | None = None

    @property
    def peak(self) -> MemoryPhase:
        """The phase that needs most."""
        return largest_phase(self.phases)

    @property
    def allocated(self) -> int:
        """What `torch.cuda.max_memory_allocated` will report, in bytes."""
        return self.peak.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskNeed:
    """What a job surely writes to a disk, and the room there.

    Attributes:
        bytes: What it writes and keeps at the same time.
        room_bytes: The size of the disk, or what is free on it.
        because: What is written, for people.
    """

    bytes: int
    room_bytes: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """The checkpoints and the result that a job keeps at the same time, wherever they are stored.

    Attributes:
        bytes: Their size, at the least.
        described: What they are, for people.
    """

    bytes: int
    described: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheaperHardware:
    """Hardware on which a job fits as it is, takes no longer, and costs much less.

    Attributes:
        name: Its name.
        usd: What the job costs there.
    """

    name: str
    usd: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEstimate:
    """What a job needs on the hardware that it runs on.

    Attributes:
        hardware: Its name.
        card: What a GPU must have, in bytes.
        usable_bytes: What a process can have of it.
        seconds: How long it takes; None if unknown.
        usd: What it costs; None if unknown.
        usd_per_hour: The price of the hardware; None if it has none.
        prices: The prices that it is one of; None if they were not looked up.
        timeout_s: A timeout that it will keep; None if its time is unknown.
        disk: What it writes to the disk; None if that, or the disk, is unknown.
        kept: What it stores; None if unknown.
        cheapest: The cheapest hardware that fits, with the settings that change; empty if none does.
        as_fast: Hardware that does the same for much less; None if there is none, or it is not certain.
    """

    hardware: str
    card: Interval
    usable_bytes: int
    seconds: Interval | None = None
    usd: Interval | None = None
    usd_per_hour: float | None = None
    prices: PriceList | None = None
    timeout_s: int | None = None
    disk: DiskNeed | None = None
    kept: KeptFiles | None = None
    cheapest: str = ""
    as_fast: CheaperHardware | None = None


def largest_phase(phases: Iterable[MemoryPhase]) -> MemoryPhase:
    """Return the phase that needs most memory."""
    return max(phases, key=lambda phase: phase.bytes)
