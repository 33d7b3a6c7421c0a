"""The estimate of a job in a few lines, as `run` shows it before it submits."""

from holdfast.core.plan.estimate import Interval, JobEstimate
from holdfast.engine.units import render_bytes, render_duration


def summarize_estimate(estimate: JobEstimate, set_timeout_s: float | None, *, has_bucket: bool) -> str:
    """Return the estimate in two to four lines.

    Args:
        estimate: The estimate.
        set_timeout_s: The timeout that the run gets because the job gives none; None if it gives one or needs none.
        has_bucket: Whether the run is kept in a bucket of the account.
    """
    card = estimate.card
    fits = "fits on" if card.high <= estimate.usable_bytes else "may not fit on"
    sizes = f"{render_bytes(round(card.low))} to {render_bytes(round(card.high))}"
    lines = [
        f"{fits} {estimate.hardware}: {sizes} of GPU memory, and a process has {render_bytes(estimate.usable_bytes)}"
    ]
    if estimate.seconds:
        cost = _cost(estimate, estimate.usd) if estimate.usd and estimate.usd.high else ""
        between = f"{render_duration(estimate.seconds.low)} to {render_duration(estimate.seconds.high)}"
        lines.append(f"takes {between}{cost}")
    else:
        lines.append("time and cost are not known")
    if set_timeout_s is not None:
        lines.append(f"timeout {render_duration(set_timeout_s)}, since the job gives none (where.timeout)")
    if has_bucket and estimate.kept:
        kept = estimate.kept
        lines.append(f"stores at least {render_bytes(kept.bytes)} in the account's bucket: {kept.described}")
    return "\n".join(lines)


def _cost(estimate: JobEstimate, usd: Interval) -> str:
    return f", {_usd(usd)}" + (f" ({estimate.prices.describe()})" if estimate.prices else "")


def _usd(amount: Interval) -> str:
    return f"${amount.low:.2f} to ${amount.high:.2f}"
