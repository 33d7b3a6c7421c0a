"""Peaks of memory, phase by phase.

A phase ends where the next begins. Nothing waits for the card: memory is given out when an operation is queued, so a
phase's peak is known as soon as the host has passed through it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

STEP_PHASES: Final = ("prepare", "forward", "backward", "clip", "optimizer")
# `first_`: of the first step, which allocates optimizer states; `later_`: of all others.
PHASES: Final = (
    "load",  # until the trainer is made: the model, its adapters, the reference model
    "begin",  # until the first step
    *(f"{age}_{name}" for age in ("first", "later") for name in STEP_PHASES),  # prepare: where GRPO generates
    "evaluation",
)

Peak = tuple[int, int]  # bytes allocated, bytes reserved


@dataclass
class Phases:
    """Collects the peak of every phase.

    Attributes:
        take_peak: Returns the peak since it was last called, and starts anew.
        count: Returns how many allocations and frees there have been.
        peaks: Highest peak of each phase that was passed through.
        marks: Phases in the order in which they were entered, each with the allocations and frees before it.
    """

    take_peak: Callable[[], Peak]
    count: Callable[[], int]
    current: str = "load"
    peaks: dict[str, Peak] = field(default_factory=dict)
    marks: list[tuple[str, int]] = field(default_factory=lambda: [("load", 0)])

    def enter(self, phase: str) -> None:
        """End the current phase and begin another."""
        self.close()
        self.current = phase
        self.marks.append((phase, self.count()))

    def close(self) -> None:
        """Note the peak of the current phase."""
        allocated, reserved = self.take_peak()
        before = self.peaks.get(self.current, (0, 0))
        self.peaks[self.current] = (max(before[0], allocated), max(before[1], reserved))

    def overall(self) -> Peak:
        """Return the highest of all peaks."""
        return max(peak[0] for peak in self.peaks.values()), max(peak[1] for peak in self.peaks.values())

    def cells(self) -> dict[str, str]:
        """Return the peaks as cells of the table."""
        named = ((phase, *peak) for phase, peak in self.peaks.items() if phase in PHASES)
        pairs = (((f"{phase}_allocated_bytes", a), (f"{phase}_reserved_bytes", r)) for phase, a, r in named)
        return {name: str(size) for pair in pairs for name, size in pair}
