"""Job that costs more than its budget.

## What it does
Checks `where.budget_usd` against the cost that `holdfast plan` estimates on the job's hardware, at the prices that the
Hub lists today. Reports an error if even the lower end of the estimate is more, and a warning if the best single
estimate is.

## Why is this bad
The budget is spent before there is a result.

## Fix safety
There is no automatic fix. `holdfast plan` lists the hardware and the settings that fit, the cheapest first.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import Interval, JobEstimate, exactly

KEY = "where.budget_usd"


def check(job: Document, estimate: JobEstimate | None) -> Iterator[Finding]:
    """Report a budget that the job certainly or probably exceeds."""
    budget = job.get(KEY, None)
    if not isinstance(budget, int | float) or estimate is None or estimate.usd is None:
        return
    usd = estimate.usd
    where = f"{estimate.hardware}{_priced(estimate)}"
    amounts = f"${usd.low:.2f} to ${usd.high:.2f} on {where}, and the budget is ${budget:.2f}"
    instead = f"; the cheapest that fits is {estimate.cheapest}" if estimate.cheapest else ""
    if usd.low > budget:
        yield Finding(KEY, f"the job costs {amounts}{instead}")
    elif usd.value > budget:
        yield Finding(KEY, f"the job may cost more: {amounts}{instead}", severity=Severity.WARNING)


def _priced(estimate: JobEstimate) -> str:
    """Return at what price, with the day of the prices; empty if that was not looked up."""
    if estimate.usd_per_hour is None or estimate.prices is None:
        return ""
    return f" at ${estimate.usd_per_hour:.2f} an hour ({estimate.prices.describe()})"


JOB = """
method: sft
model: {path: Qwen/Qwen3-8B}
dataset: trl-lib/Capybara
where: {backend: hf-jobs, hardware: h200, timeout: 9h, budget_usd: 10}
"""


def costs(low: float, value: float, high: float) -> dict[str, JobEstimate]:
    """Return the fact of a job that costs some dollars."""
    usd, card = Interval(value, low, high), exactly(1_000_000_000)
    return {
        "estimate": JobEstimate(hardware="h200", card=card, usable_bytes=2_000_000_000, usd=usd, cheapest="a100-large")
    }


RULE = Rule(
    code="RES103",
    name="exceeded-budget",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The time of `plan`, and the prices that the Hub lists at `/api/jobs/hardware`, as `list_jobs_hardware` of huggingface_hub 2.4 reads them. "
        "Where the Hub does not answer, those of `catalog/tables/flavors.toml`, read on 2026-11-23."
    ),
    bad=(Case(job=JOB, facts=costs(20, 30, 40), at=KEY), Case(job=JOB, facts=costs(5, 15, 40), at=KEY)),
    good=(
        Case(job=JOB, facts=costs(1, 5, 20)),
        Case(job=JOB.replace(", budget_usd: 10", ""), facts=costs(20, 30, 40)),
        Case(job=JOB, facts={"estimate": None}),
    ),
)
