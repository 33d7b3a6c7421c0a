"""The plan of a job, as text."""

from collections.abc import Callable, Iterator
from typing import Final

from click import style

from holdfast.cli.text.scenarios import render_scenario
from holdfast.core.backends import LOCAL
from holdfast.core.errors import UsageError
from holdfast.engine.units import render_bytes, render_count, render_counted, render_duration
from holdfast.results.plan import (
    EstimateRange,
    OptionResult,
    PlanMachine,
    PlanMemory,
    PlanPhase,
    PlanPrices,
    PlanResult,
    PlanTimePart,
)

BAR: Final = 48
"""Columns of the longest bar."""
MARKS: Final = {
    "weights": ("W", "blue"),
    "gradients": ("G", "magenta"),
    "optimizer": ("O", "cyan"),
    "activations": ("A", "yellow"),
    "logits": ("L", "red"),
    "reference": ("R", "bright_blue"),
    "generation": ("K", "green"),
    "overhead": ("x", "white"),
}
"""Letter and colour of each purpose. A bar is made of letters, so that it can be read without colours."""
PEAKS_ONLY: Final = (
    "the few traced layers do not show how all layers allocate, so only the peaks of the phases are known"
)


def render_plan(result: PlanResult) -> str:
    """Return the verdict, the memory by phase with its reasons, time and cost, and the options.

    For a job that trains on the processors of this machine, what concerns GPUs comes last.
    """
    memory = "\n".join(_memory(result.memory, _memory_title(result))) if result.memory else ""
    amounts, options = "\n".join(_amounts(result)), "\n".join(_options(result)) if result.options else ""
    parts = [
        render_scenario(result.path, result.scenario) if result.scenario else "",
        "\n".join(_verdict(result)),
        *((amounts, options, memory) if _runs_on_processors(result) else (memory, amounts, options)),
        *(["\n".join(_because(result))] if result.because else []),
        style(f"not traced: {result.untraced}", fg="yellow") if result.untraced else "",
        "\n".join(_errors(result)) if result.check_errors else "",
        _applied(result) if result.applied is not None else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _runs_on_processors(result: PlanResult) -> bool:
    """Whether the job names this machine, which has no GPU."""
    return result.hardware == LOCAL.name and result.here is not None and result.here.card_bytes is None


def render_html(result: PlanResult) -> str:
    """Return the timeline of the traced step as one HTML page that loads nothing else.

    Raises:
        UsageError: There is none.
    """
    if result.memory is None or result.timeline is None:
        why = result.untraced or next((each.because for each in result.unknown), "") or PEAKS_ONLY
        raise UsageError(f"there is no timeline to draw: {why}", where="--html", fix="plan it without `--html`")
    from holdfast.engine.report.timeline import render_timeline  # with the templates, which few plans need

    return render_timeline(result, result.memory, result.timeline)


def _applied(result: PlanResult) -> str:
    if result.applied:
        return f"written into {result.path}: {result.applied_as}"
    if result.fits:
        return "nothing written: the job fits as it is."
    if result.options:
        return "nothing written: the job itself need not change. Hardware is not part of a script; name it when you run it."
    return "nothing written: no change is known with which the job fits."


def _errors(result: PlanResult) -> Iterator[str]:
    """Yield what `check` finds wrong."""
    many = render_counted(result.check_errors, "error")
    yield style(f"`holdfast check` finds {many}: what is wrong there is not in this plan.", fg="red")
    for each in result.errors:
        yield f"  {f'line {each.line}: ' if each.line else ''}{each.code} {each.message}"
    if result.check_errors > len(result.errors):
        yield "  ..."


def _verdict(result: PlanResult) -> Iterator[str]:
    if result.memory is None:
        yield style("The memory is not known.", bold=True)
    elif result.here and _runs_on_processors(result):
        yield from _on_processors(result.here, named=True)
        yield from _limits(result)
        return
    elif result.fits is None:
        yield style("The hardware is not known.", fg="red", bold=True)
    elif result.fits and result.hardware:
        changed = f", with {result.written}" if result.written else ""
        yield style(f"The job fits on {result.hardware}{changed}.", fg="green", bold=True)
    elif result.hardware:
        yield style(_does_not_fit(result, result.memory, result.hardware), fg="red", bold=True)
        yield "The options below fit." if result.options else result.advice
    else:
        yield style("The job fits no single GPU that is known.", fg="red", bold=True)
        yield result.advice
    yield from _here(result.here)
    yield from _limits(result)


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
        yield f"There it takes about {render_duration(machine.time_s.value)} {_between(machine.time_s, render_duration)}."
    elif machine.no_time:
        yield f"How long that takes is not known: {machine.no_time}."


def _limits(result: PlanResult) -> Iterator[str]:
    """Yield how the estimate compares with the budget and the timeout of the job."""
    if result.over_budget and result.cost_usd and result.budget_usd is not None:
        sure = "costs" if result.cost_usd.low > result.budget_usd else "may cost"
        amounts = (
            f"{_usd(result.cost_usd.low)} to {_usd(result.cost_usd.high)}, and the budget is {_usd(result.budget_usd)}"
        )
        yield style(f"It {sure} more than the budget: {amounts}.", fg="red")
    elif result.budget_usd is not None and result.cost_usd:
        yield f"It costs at most {_usd(result.cost_usd.high)}; the budget is {_usd(result.budget_usd)}."
    elif result.budget_usd is not None:
        yield style(f"The budget of {_usd(result.budget_usd)} is not compared: the cost is not known.", fg="yellow")
    if result.short_timeout and result.time_s and result.given_timeout_s is not None:
        sure = "is" if result.time_s.low > result.given_timeout_s else "may be"
        between = f"{render_duration(result.time_s.low)} to {render_duration(result.time_s.high)}"
        yield style(
            f"The timeout of {render_duration(result.given_timeout_s)} {sure} too short: it takes {between}.", fg="red"
        )


def _does_not_fit(result: PlanResult, memory: PlanMemory, hardware: str) -> str:
    if hardware == LOCAL.name:
        return "This machine has no GPU that holds the job."
    if not result.has_gpu or result.card_bytes is None:
        return f"{hardware} has no GPU."
    sure = "does not" if memory.low_bytes > result.card_bytes else "may not"
    return f"The job {sure} fit on {hardware}, where a process can have {render_bytes(result.card_bytes)}."


def _memory_title(result: PlanResult) -> str:
    where = " on a GPU" if _runs_on_processors(result) else ""
    return f"memory of one process{where}, with the job's own settings"


def _memory(memory: PlanMemory, title: str) -> Iterator[str]:
    yield style(title, bold=True)
    yield (
        f"  the card must have {render_bytes(memory.peak_bytes)} "
        f"({render_bytes(memory.low_bytes)} to {render_bytes(memory.high_bytes)}); "
        f"torch allocates {render_bytes(memory.allocated_bytes)}"
    )
    if memory.traced and memory.closed_form_bytes is not None:
        reserves = f"the allocator reserves {render_bytes(memory.reserved_bytes)}; " if memory.reserved_bytes else ""
        yield f"  traced: {reserves}the closed form has {render_bytes(memory.closed_form_bytes)} allocated"
    largest = max(phase.bytes for phase in memory.phases)
    for phase in memory.phases:
        yield f"  {phase.name:12} {_bar(phase, largest)} {render_bytes(phase.bytes)}"
    named = dict.fromkeys(term.name for phase in memory.phases for term in phase.terms)
    yield "  " + "  ".join(style(f"{MARKS[name][0]} {name}", fg=MARKS[name][1]) for name in named)
    peak = max(memory.phases, key=lambda phase: phase.bytes)
    yield style(f"at the peak, {peak.name}", bold=True)
    for term in sorted(peak.terms, key=lambda term: -term.bytes):
        if term.bytes:
            yield f"  {render_bytes(term.bytes):>8}  {term.name:12} {style(term.because, dim=True)}"


def _bar(phase: PlanPhase, largest: int) -> str:
    """Return a bar of letters, a purpose after the other, as long as the phase is large."""
    sizes: dict[str, int] = {}
    for term in phase.terms:
        sizes[term.name] = sizes.get(term.name, 0) + term.bytes
    bar, done, drawn = "", 0, 0
    for name, size in sizes.items():
        done += size
        end = round(BAR * done / largest)
        letter, colour = MARKS[name]
        bar += style(letter * (end - drawn), fg=colour)
        drawn = end
    return bar + " " * (BAR - drawn)


def _amounts(result: PlanResult) -> Iterator[str]:
    if result.parameters is not None and result.trainable is not None:
        yield f"parameters  {render_count(result.parameters)}, {render_count(result.trainable)} of them trained"
    if result.time_s:
        yield f"time        {render_duration(result.time_s.value)} {_between(result.time_s, render_duration)}"
        yield from (_time_part(part) for part in result.time_parts)
    if result.cost_usd:
        yield f"cost        {_usd(result.cost_usd.value)} {_between(result.cost_usd, _usd)}"
    if result.timeout_s:
        yield f"timeout     {render_duration(result.timeout_s)}"
    for each in result.unknown:
        yield f"{each.what:11} {style(f'not known: {each.because}', dim=True)}"


def _time_part(part: PlanTimePart) -> str:
    took = render_duration(part.time_s.value)
    return f"  {part.name:10}{took:>12}  {style(part.because, dim=True)}"


def _between(found: EstimateRange, render: Callable[[float], str]) -> str:
    return f"({render(found.low)} to {render(found.high)})"


def _usd(amount: float) -> str:
    return f"${amount:.2f}"


HEADER: Final = f"  {'hardware':14} {'card, at most':>14} {'time':>12} {'cost':>9}  settings"
"""Of the table of options. The memory there is the upper end of what the card must have."""


def _options(result: PlanResult) -> Iterator[str]:
    where = "GPUs that hold it" if _runs_on_processors(result) else "what fits"
    yield style(f"{where}, the cheapest first", bold=True)
    yield style(HEADER, dim=True)
    for option in result.options:
        yield "  " + _option(option)
    if bound := [option.hardware for option in result.options if option.launch_bound]:
        there = "there" if len(bound) == len(result.options) else f"on {', '.join(bound)}"
        yield style(f"  Steps {there} wait for the host to launch operations: a faster GPU does not help.", dim=True)
    if result.prices:
        yield style(f"  {_prices(result.prices)}", dim=True)


def _prices(prices: PlanPrices) -> str:
    if prices.source == "hub":
        return f"Prices: the Hub's, of {prices.day}."
    because = f"; {prices.because}" if prices.because else ""
    return f"Prices: holdfast's own table, of {prices.day}{because}."


def _option(option: OptionResult) -> str:
    time = render_duration(option.time_s) if option.time_s is not None else "-"
    hourly = f"{_usd(option.usd_per_hour)}/h" if option.usd_per_hour else "-"
    cost = _usd(option.cost_usd) if option.cost_usd is not None else hourly
    return f"{option.hardware:14} {render_bytes(option.high_bytes):>14} {time:>12} {cost:>9}  {option.written or 'as it is'}"


def _because(result: PlanResult) -> Iterator[str]:
    yield style("what this rests on", bold=True)
    for reason in result.because:
        yield f"  {style(reason, dim=True)}"
