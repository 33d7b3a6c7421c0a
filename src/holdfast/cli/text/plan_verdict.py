"""The verdict of a plan, as text: whether the job fits, this machine, the budget and the timeout."""

from collections.abc import Callable, Iterator

from click import style

from holdfast.core.run.backends import LOCAL
from holdfast.engine.units import render_bytes, render_counted, render_duration
from holdfast.results.plan import EstimateRange, PlanMachine, PlanMemory, PlanResult


def render_verdict(result: PlanResult) -> Iterator[str]:
    """Yield whether the job fits, where it runs, and how it compares with its budget and its timeout."""
    if result.memory and result.here and runs_on_processors(result):
        yield from _on_processors(result.here, named=True)
    else:
        yield from _fit(result)
        yield from _here(result.here if result.fits is not None else None)
    yield from _limits(result)


def _fit(result: PlanResult) -> Iterator[str]:
    """Yield whether the job fits its hardware."""
    if result.memory is None:
        yield style("The memory is not known.", bold=True)
    elif result.fits is None:
        because = next((f": {each.because}" for each in result.unknown if each.what == "hardware"), "")
        yield style(f"The hardware is not known{because}.", fg="red", bold=True)
    elif result.hardware:
        yield from _fit_on(result.hardware, result, result.memory)
    else:
        yield style("The job fits no single GPU that is known.", fg="red", bold=True)
        yield _way_out(result)


def _fit_on(hardware: str, result: PlanResult, memory: PlanMemory) -> Iterator[str]:
    if result.fits:
        changed = f", with {result.written}" if result.written else ""
        yield style(f"The job fits on {hardware}{changed}.", fg="green", bold=True)
        if changed and (kept := next((each for each in result.options if not each.settings), None)):
            yield f"As it is, it fits on {kept.hardware}."
        yield from _doubt(hardware, result)
    else:
        yield style(_does_not_fit(result, memory, hardware), fg="red", bold=True)
        yield _way_out(result)


def _doubt(hardware: str, result: PlanResult) -> Iterator[str]:
    """Yield that hardware is the cheapest only by a guess of its speed, and what is the cheapest of those whose speed is known."""
    first = next(iter(result.options), None)
    if first is None or first.hardware != hardware or not first.guessed_speed or len(result.options) == 1:
        return
    if result.here is None:  # the user named the hardware: nobody said that it is the cheapest
        return
    known = next((each for each in result.options if not each.guessed_speed and each.step_s is not None), None)
    instead = f" By speeds that runs show, the cheapest is {known.hardware}." if known else ""
    yield f"That this is the cheapest is a guess, as its speed is.{instead}"


def _way_out(result: PlanResult) -> str:
    """The place of what fits instead, or the advice if nothing does."""
    if result.options:
        return "The options below fit."
    return "With one of the changes below, it fits." if result.advised else result.advice


def runs_on_processors(result: PlanResult) -> bool:
    """Whether the job names this machine, which has no GPU."""
    return result.hardware == LOCAL.name and result.here is not None and result.here.card_bytes is None


def _here(machine: PlanMachine | None) -> Iterator[str]:
    """Yield whether a job that does not say where it runs fits this machine."""
    if machine is None:
        return
    if machine.card_bytes is None:
        yield from _on_processors(machine)
        return
    verdict = "fits as it is" if machine.fits else "does not fit as it is"
    yield f"On this machine ({machine.gpus[0]}) it {verdict}: a process can have {render_bytes(machine.card_bytes)}."


def _on_processors(machine: PlanMachine, *, named: bool = False) -> Iterator[str]:
    """Yield how long a machine without a GPU trains, or why it cannot.

    Args:
        machine: This machine.
        named: Whether the job names it.
    """
    if machine.memory_bytes and machine.least_bytes and machine.least_bytes > machine.memory_bytes:
        yield (
            f"This machine has no GPU and {render_bytes(machine.memory_bytes)} of memory: too little to train on its processors. "
            f"Weights, gradients and optimizer states alone are {render_bytes(machine.least_bytes)}."
        )
        return
    cores = render_counted(machine.cores or 0, "core")
    if named:
        yield style(f"The job trains on the processors of this machine ({cores}): it has no GPU.", bold=True)
    else:
        yield f"This machine has no GPU: without `where.hardware`, `holdfast run` trains on its processors ({cores})."
    if machine.time_s:
        yield f"There it takes about {render_duration(machine.time_s.value)} {render_range(machine.time_s, render_duration)}."
    elif machine.no_time:
        yield f"How long that takes is not known: {machine.no_time}."


def _limits(result: PlanResult) -> Iterator[str]:
    """Yield how the estimate compares with the budget and the timeout of the job."""
    if result.budget_usd is not None:
        yield _compared_with_budget(result, result.budget_usd)
    if result.short_timeout and result.time_s and result.given_timeout_s is not None:
        sure = "is" if result.time_s.low > result.given_timeout_s else "may be"
        between = f"{render_duration(result.time_s.low)} to {render_duration(result.time_s.high)}"
        yield style(
            f"The timeout of {render_duration(result.given_timeout_s)} {sure} too short: it takes {between}.", fg="red"
        )


def _compared_with_budget(result: PlanResult, budget_usd: float) -> str:
    budget, cost = render_usd(budget_usd), result.cost_usd
    if not cost:
        return style(f"The budget of {budget} is not compared: the cost is not known.", fg="yellow")
    if not result.over_budget:
        return f"It costs at most {render_usd(cost.high)}; the budget is {budget}."
    sure = "costs" if cost.low > budget_usd else "may cost"
    amounts = f"{render_usd(cost.low)} to {render_usd(cost.high)}, and the budget is {budget}"
    return style(f"It {sure} more than the budget: {amounts}.", fg="red")


def _does_not_fit(result: PlanResult, memory: PlanMemory, hardware: str) -> str:
    if hardware == LOCAL.name:
        return "This machine has no GPU that holds the job."
    if not result.has_gpu or result.card_bytes is None:
        return f"{hardware} has no GPU."
    sure = "does not" if memory.low_bytes > result.card_bytes else "may not"
    return f"The job {sure} fit on {hardware}, where a process can have {render_bytes(result.card_bytes)}."


def render_range(found: EstimateRange, render: Callable[[float], str]) -> str:
    """Return the bounds of a number, in brackets."""
    return f"({render(found.low)} to {render(found.high)})"


def render_usd(amount: float) -> str:
    """Return an amount of money."""
    return f"${amount:.2f}"
