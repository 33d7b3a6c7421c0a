"""What the attempts of a run have cost so far, all together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import SAVE_S
from holdfast.core.run.run_state import RunState

HARDWARE: Final = "where.hardware"
HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Prices:
    """What the hardware of a run costs.

    Attributes:
        hardware: What the first attempt runs on.
        usd_per_hour: The prices of the hardware that the run may use.
    """

    hardware: str
    usd_per_hour: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Budget:
    """The money that a run may cost.

    Attributes:
        usd: How much.
        prices: What its hardware costs.
    """

    usd: float
    prices: Prices


def spent_usd(state: RunState, prices: Prices) -> float:
    """Return what the attempts of a run have cost by the time that they ran. Waiting for hardware costs nothing; what has no price counts as 0."""
    hardware, spent = prices.hardware, 0.0
    for attempt in state.attempts:
        spent += _ran_s(attempt, state.seen_s) / HOUR_S * prices.usd_per_hour.get(hardware, 0.0)
        changes = attempt.remedy.changes if attempt.remedy else ()
        hardware = next((str(each.after) for each in changes if each.key == HARDWARE), hardware)
    return spent


def ran_s(state: RunState, now_s: float) -> float:
    """Return the seconds that the attempts of a run took; waiting for hardware does not count."""
    return sum(_ran_s(attempt, now_s) for attempt in state.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """What limits the cost of a run.

    Attributes:
        hardware: What it runs on.
        timeout_s: The time that it may take.
        grows: Whether it may get larger hardware, so that a timeout does not limit its cost.
    """

    hardware: str | None
    timeout_s: float | None
    grows: bool


def most_usd(limits: SpendingLimits, usd_per_hour: Mapping[str, float]) -> float | None:
    """Return the most that a run may cost: until its timeout, and while it saves after that; None if it has none, or no price.

    A budget is no such limit: it is kept by the process that supervises the run, and the job goes on without it.

    >>> most_usd(SpendingLimits(hardware="a10g-large", timeout_s=4 * 3600.0, grows=False), {"a10g-large": 1.5})
    6.275
    """
    price = usd_per_hour.get(limits.hardware or "")
    if price is None or limits.timeout_s is None or limits.grows:
        return None
    return price * (limits.timeout_s + SAVE_S) / HOUR_S


def is_used_up(state: RunState, budget: Budget | None) -> bool:
    """True if a run has cost as much as it may."""
    return budget is not None and spent_usd(state, budget.prices) >= budget.usd


def _ran_s(attempt: AttemptState, now_s: float) -> float:
    if attempt.waiting or not attempt.id:
        return 0.0
    return max((attempt.ended_s or now_s) - attempt.running_s, 0.0)
