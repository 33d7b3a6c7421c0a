"""What is requested beside a target: hardware, budget, processes, and how these share the work."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast.adapters.targets import Target
from holdfast.core.check.finding import MissingFactError
from holdfast.core.errors import UsageError
from holdfast.core.job.document import ABSENT, Document, Edit, Remove, Set
from holdfast.core.plan.hardware import Hardware
from holdfast.core.run.backends import BACKEND_KEY, HF_JOBS, LOCAL
from holdfast.core.text.nearest import suggest_one
from holdfast.core.text.places import Place
from holdfast.engine.plan.hardware import find_hardware, own_prices

HARDWARE_KEY: Final = "where.hardware"
STRATEGIES: Final = ("ddp", "fsdp", "zero2", "zero3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """Where a target is to run, as far as that was requested beside it.

    Attributes:
        hardware: The name of the hardware.
        budget: The most that it may cost, in USD.
        processes: Training processes on each machine.
        strategy: How they share the work.
    """

    hardware: str | None = None
    budget: float | None = None
    processes: int | None = None
    strategy: str | None = None

    @property
    def settings(self) -> Mapping[str, str | float | int]:
        """The keys that it sets."""
        named = {
            HARDWARE_KEY: self.hardware,
            "where.budget_usd": self.budget,
            "where.processes": self.processes,
            "where.strategy": self.strategy,
        }
        return {key: value for key, value in named.items() if value is not None}

    def require_valid(self, own: tuple[Hardware, ...]) -> None:
        """Refuse invalid values before the Hub is contacted.

        Raises:
            UsageError: A value is invalid.
        """
        if self.strategy is not None and self.strategy not in STRATEGIES:
            fix = suggest_one(self.strategy, STRATEGIES)
            raise UsageError(f"{self.strategy!r} is not a strategy", where="strategy", fix=fix)
        if self.budget is not None and not 0 < self.budget < math.inf:
            raise UsageError(f"{self.budget} is not a budget", where="budget", fix="give an amount above 0, in USD")
        if self.processes is not None and self.processes < 1:
            what = f"{self.processes} is not a number of processes"
            raise UsageError(what, where="processes", fix="give 1 or more")
        if self.hardware is not None:
            _require_hardware(self.hardware, own)


def require_known_hardware(job: Document, own: tuple[Hardware, ...]) -> None:
    """Refuse an override that names unknown hardware; what the job file itself names is shown in the plan.

    Raises:
        UsageError: The hardware is unknown.
    """
    place, name = job.place(HARDWARE_KEY), job.get(HARDWARE_KEY, None)
    if place.origin and isinstance(name, str) and job.get(BACKEND_KEY, None) in (None, HF_JOBS.name):
        _require_hardware(name, own, where=place.path)


def place_target(target: Target, placing: Placing) -> Target:
    """Return a target with what was requested beside it."""
    if not placing.settings:
        return target
    edits: list[Edit] = [Set(key, value) for key, value in placing.settings.items()]
    edits += [Remove(key) for key in _replaced(target.document, placing)]
    documents = tuple(each.with_values(edits, Place("the command line")) for each in target.documents)
    return replace(target, documents=documents)


def _replaced(document: Document, placing: Placing) -> list[str]:
    """Return the keys of a target that say the same in another way."""
    keys = []
    if placing.processes is not None and document.get("where.world_size") is not ABSENT:
        keys.append("where.world_size")
    if placing.hardware is not None and document.get(BACKEND_KEY, None) == LOCAL.name:
        keys.append(BACKEND_KEY)
    return keys


def _require_hardware(name: str, own: tuple[Hardware, ...], where: str = "hardware") -> None:
    try:
        find_hardware(name, own_prices(own))
    except MissingFactError as error:
        fix = "name a flavor of Hugging Face Jobs or a kind of GPU, such as a10g-large, h100 or h100x8"
        raise UsageError(error.because, where=where, fix=fix) from None
