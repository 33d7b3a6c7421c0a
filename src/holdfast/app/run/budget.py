"""What a run may cost, with the prices of the hardware that it may use."""

from holdfast.catalog.hub.flavors import load_flavors
from holdfast.core.backends import capabilities_of
from holdfast.core.plan import Plan
from holdfast.engine.run.spending import Budget


def budget_of(plan: Plan) -> Budget | None:
    """Return the budget of a plan; None if it has none, or if what it runs on has no price."""
    if plan.budget_usd is None or plan.hardware is None or not capabilities_of(plan.backend).has_flavors:
        return None
    prices = {name: flavor.usd_per_hour for name, flavor in load_flavors().items() if flavor.usd_per_hour}
    return Budget(plan.budget_usd, plan.hardware, prices) if plan.hardware in prices else None
