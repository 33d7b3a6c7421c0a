"""What a run has cost, and what it may cost, by the prices of the day on which it was planned."""

from contextlib import suppress
from pathlib import Path

from holdfast.adapters.storage.run_folder import load_plan
from holdfast.catalog.hub.flavors import planned_prices
from holdfast.core.errors import LedgerError
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.spending import Budget, Prices, spent_usd


def budget_of(plan: Plan) -> Budget | None:
    """Return the budget of a plan; None if it has none, or if what it runs on has no price."""
    prices = _prices_of(plan)
    return Budget(plan.budget_usd, prices) if plan.budget_usd is not None and prices else None


def cost_usd(folder: Path, state: RunState) -> float:
    """Return what the attempts of a run have cost so far; 0 if what they run on has no price.

    Args:
        folder: The run's folder.
        state: Its state.
    """
    if state.current is None or not capabilities_of(state.current.backend).has_flavors:
        return 0.0
    with suppress(LedgerError):
        if prices := _prices_of(load_plan(folder)):
            return spent_usd(state, prices)
    return 0.0


def _prices_of(plan: Plan) -> Prices | None:
    """Return the prices of what a plan runs on, and may run on after a remedy; None if it has none."""
    if plan.hardware is None or not capabilities_of(plan.backend).has_flavors:
        return None
    prices = {name: price for name, price in planned_prices(plan.usd_per_hour).items() if price}
    return Prices(plan.hardware, prices) if plan.hardware in prices else None
