"""The plan of a job, as text."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from click import style

from holdfast.core.backends import LOCAL
from holdfast.engine.units import render_bytes, render_count, render_duration
from holdfast.results.plan import EstimateRange, OptionResult, PlanMemory, PlanPhase, PlanResult

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


def render_plan(result: PlanResult) -> str:
    """Return the verdict, the memory by phase with its reasons, time and cost, and the options."""
    parts = [
        "\n".join(_verdict(result)),
        *(["\n".join(_memory(result.memory))] if result.memory else []),
        "\n".join(_amounts(result)),
        *(["\n".join(_options(result))] if result.options else []),
        *(["\n".join(_because(result))] if result.because else []),
    ]
    return "\n\n".join(part for part in parts if part)


def _verdict(result: PlanResult) -> Iterator[str]:
    if result.memory is None:
        yield style("The memory is not known.", bold=True)
    elif result.fits and result.hardware:
        changed = f", with {_settings(result.settings)}" if result.settings else ""
        yield style(f"The job fits on {result.hardware}{changed}.", fg="green", bold=True)
    elif result.hardware:
        yield style(_does_not_fit(result, result.hardware), fg="red", bold=True)
        yield "The options below fit." if result.options else _no_option()
    else:
        yield style("The job fits no single GPU that is known.", fg="red", bold=True)
        yield _no_option()
    if result.over_budget:
        yield style("It may cost more than where.budget_usd.", fg="red")


def _does_not_fit(result: PlanResult, hardware: str) -> str:
    if hardware == LOCAL.name:
        return "This machine has no GPU that holds the job."
    return f"The job may not fit on {hardware}." if result.has_gpu else f"{hardware} has no GPU."


def _no_option() -> str:
    return "Shorten train.max_length, train an adapter (peft), or share the model among GPUs (where.strategy: fsdp)."


def _memory(memory: PlanMemory) -> Iterator[str]:
    yield style("memory of one process, with the job's own settings", bold=True)
    yield (
        f"  the card must have {render_bytes(memory.peak_bytes)} "
        f"({render_bytes(memory.low_bytes)} to {render_bytes(memory.high_bytes)}); "
        f"torch allocates {render_bytes(memory.allocated_bytes)}"
    )
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
    if result.cost_usd:
        yield f"cost        {_usd(result.cost_usd.value)} {_between(result.cost_usd, _usd)}"
    if result.timeout_s:
        yield f"timeout     {render_duration(result.timeout_s)}"
    for each in result.unknown:
        yield f"{each.what:11} {style(f'not known: {each.because}', dim=True)}"


def _between(found: EstimateRange, render: Callable[[float], str]) -> str:
    return f"({render(found.low)} to {render(found.high)})"


def _usd(amount: float) -> str:
    return f"${amount:.2f}"


def _options(result: PlanResult) -> Iterator[str]:
    yield style("what fits, the cheapest first", bold=True)
    for option in result.options:
        yield "  " + _option(option)


def _option(option: OptionResult) -> str:
    time = render_duration(option.time_s) if option.time_s is not None else "-"
    cost = _usd(option.cost_usd) if option.cost_usd is not None else "-"
    settings = _settings(option.settings) or "as it is"
    return f"{option.hardware:14} {render_bytes(option.high_bytes):>8} {time:>12} {cost:>8}  {settings}"


def _settings(settings: Mapping[str, bool | int | str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _because(result: PlanResult) -> Iterator[str]:
    yield style("what this rests on", bold=True)
    for reason in result.because:
        yield f"  {style(reason, dim=True)}"
