"""The plan of a job, as text."""

from collections.abc import Iterator, Sequence
from typing import Final

from click import style

from holdfast.cli.text.plan_verdict import render_range, render_usd, render_verdict, runs_on_processors
from holdfast.cli.text.scenarios import render_scenario
from holdfast.core.errors import UsageError
from holdfast.engine.units import render_bytes, render_count, render_counted, render_duration
from holdfast.results.plan import OptionResult, PlanMemory, PlanPhase, PlanPrices, PlanResult, PlanTimePart

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
HEADER: Final = f"{'card, at most':>14} {'time':>12} {'cost':>10}  settings"
"""Of the table of options, after the hardware. The memory there is the upper end of what the card must have."""
STEP_HEADER: Final = f"{'card, at most':>14} {'a step':>12} {'1000 steps':>10}  settings"
"""The same, if it is not known how many steps there are."""
STEPS: Final = 1000
HOUR_S: Final = 3600
NAME_WIDTH: Final = 14
"""Columns of the hardware in that table, at least."""
PART_WIDTH: Final = 13
"""Columns of the longest name of a part of the time, `communication`."""
PEAKS_ONLY: Final = (
    "the few traced layers do not show how all layers allocate, so only the peaks of the phases are known"
)


def render_plan(result: PlanResult) -> str:
    """Return the verdict, the memory by phase with its reasons, time and cost, and the options.

    For a job that trains on the processors of this machine, what concerns GPUs comes last.
    """
    return "\n\n".join(filter(None, _parts(result)))


def _parts(result: PlanResult) -> Iterator[str]:
    """Yield the parts of a plan; empty ones are left out."""
    if result.scenario:
        yield render_scenario(result.path, result.scenario)
    yield "\n".join(render_verdict(result))
    yield from _figures(result)
    if result.because:
        yield "\n".join(_because(result))
    if result.untraced:
        yield style(f"not traced: {result.untraced}", fg="yellow")
    if result.check_errors:
        yield "\n".join(_errors(result))
    if result.applied is not None:
        yield _applied(result)


def _figures(result: PlanResult) -> tuple[str, str, str]:
    """Return memory, amounts and options, in the order in which they are shown."""
    memory = "\n".join(_memory(result.memory, _memory_title(result))) if result.memory else ""
    amounts = "\n".join(_amounts(result))
    options = "\n".join(_options(result)) if result.options or result.advised else ""
    return (amounts, options, memory) if runs_on_processors(result) else (memory, amounts, options)


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
    if result.advised:
        return (
            "nothing written: what would fit changes the job itself. Choose one of the changes, and write it yourself."
        )
    return "nothing written: no change is known with which the job fits."


def _errors(result: PlanResult) -> Iterator[str]:
    """Yield what `check` finds wrong."""
    many = render_counted(result.check_errors, "error")
    yield style(f"`holdfast check` finds {many}: what is wrong there is not in this plan.", fg="red")
    for each in result.errors:
        yield f"  {f'line {each.line}: ' if each.line else ''}{each.code} {each.message}"
    if result.check_errors > len(result.errors):
        yield "  ..."


def _memory_title(result: PlanResult) -> str:
    where = " on a GPU" if runs_on_processors(result) else ""
    return f"memory of one process{where}, with the job's own settings"


def _memory(memory: PlanMemory, title: str) -> Iterator[str]:
    yield style(title, bold=True)
    yield (
        f"  the card must have {render_bytes(memory.peak_bytes)} "
        f"({render_bytes(memory.low_bytes)} to {render_bytes(memory.high_bytes)}); "
        f"torch allocates {render_bytes(memory.allocated_bytes)}"
    )
    yield from _traced(memory)
    yield from _phases(memory)
    yield from _peak(max(memory.phases, key=lambda phase: phase.bytes))


def _traced(memory: PlanMemory) -> Iterator[str]:
    if memory.traced and memory.closed_form_bytes is not None:
        reserves = f"the allocator reserves {render_bytes(memory.reserved_bytes)}; " if memory.reserved_bytes else ""
        yield f"  traced: {reserves}the closed form has {render_bytes(memory.closed_form_bytes)} allocated"


def _phases(memory: PlanMemory) -> Iterator[str]:
    """Yield a bar for each phase, and the letters of the bars."""
    largest = max(phase.bytes for phase in memory.phases)
    for phase in memory.phases:
        yield f"  {phase.name:12} {_bar(phase, largest)} {render_bytes(phase.bytes)}"
    named = dict.fromkeys(term.name for phase in memory.phases for term in phase.terms)
    yield "  " + "  ".join(style(f"{MARKS[name][0]} {name}", fg=MARKS[name][1]) for name in named)


def _peak(peak: PlanPhase) -> Iterator[str]:
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
        yield f"time        {render_duration(result.time_s.value)} {render_range(result.time_s, render_duration)}"
        yield from (_time_part(part) for part in result.time_parts)
    if result.cost_usd:
        yield f"cost        {render_usd(result.cost_usd.value)} {render_range(result.cost_usd, render_usd)}"
    if result.timeout_s:
        yield f"timeout     {render_duration(result.timeout_s)}"
    for each in result.unknown:
        yield f"{each.what:11} {style(f'not known: {each.because}', dim=True)}"


def _time_part(part: PlanTimePart) -> str:
    took = render_duration(part.time_s.value)
    return f"  {part.name:{PART_WIDTH}}{took:>12}  {style(part.because, dim=True)}"


def _options(result: PlanResult) -> Iterator[str]:
    """Yield the table of what fits, or of what would fit if the job were changed."""
    shown = result.options or result.advised
    yield style(f"{_options_title(result)}, the cheapest first", bold=True)
    width = max(NAME_WIDTH, *(len(_label(option)) for option in shown))
    timed = any(option.time_s is not None or option.step_s is None for option in shown)
    yield style(f"  {'hardware':{width}} {HEADER if timed else STEP_HEADER}", dim=True)
    for option in shown:
        yield f"  {_label(option):{width}} {_option(option)}"
    yield from (style(f"  {note}", dim=True) for note in _notes(result, shown))


def _options_title(result: PlanResult) -> str:
    if not result.options:
        return "what would fit, with a change of the job"
    return "GPUs that hold it" if runs_on_processors(result) else "what fits"


def _notes(result: PlanResult, shown: Sequence[OptionResult]) -> Iterator[str]:
    """Yield what is to be known of a table of options."""
    if runs_on_processors(result):
        yield "To run it on one of these: `where.backend: hf-jobs` and `where.hardware`. The job itself names this machine."
    if bound := [option.hardware for option in shown if option.launch_bound]:
        there = "there" if len(bound) == len(shown) else f"on {', '.join(bound)}"
        yield f"Steps {there} wait for the host to launch operations: a faster GPU does not help."
    yield from _exceptions(shown)
    if result.left_out:
        left = ", ".join(result.left_out)
        yield f"Left out: {left}: the job uses bfloat16, which they do not support. With `fp16` it may run there."
    if result.prices:
        yield _prices(result.prices)
    for name, day in dict.fromkeys((each.provider, each.priced) for each in shown if each.provider):
        yield f"Prices of {name}: your own price file{f', of {day}' if day else ''}."


def _exceptions(shown: Sequence[OptionResult]) -> Iterator[str]:
    """Yield which options differ from the others: in what is known of them, or in the effective batch."""
    untimed = [_label(option) for option in shown if option.step_s is None]
    if 0 < len(untimed) < len(shown):
        yield f"Listed last, because their speed is not known: {', '.join(untimed)}."
    if any(option.guessed_speed for option in shown):
        yield "?: a guess, and so are the cost and the place in this table: no run on such a GPU shows its speed, which is taken from GPUs of its generation."
    for because in dict.fromkeys(option.precision for option in shown if option.precision):
        there = ", ".join(_label(option) for option in shown if option.precision == because)
        yield f"On {there}, {because}."
    for option in shown:
        if option.effective_batch:
            yield f"On {_label(option)}, the effective batch is {option.effective_batch}, which differs from the job's."


def _prices(prices: PlanPrices) -> str:
    if prices.source == "hub":
        return f"Prices: the Hub's, of {prices.day}."
    because = f"; {prices.because}" if prices.because else ""
    return f"Prices: holdfast's own table, of {prices.day}{because}."


def _label(option: OptionResult) -> str:
    return f"{option.hardware} ({option.provider})" if option.provider else option.hardware


def _option(option: OptionResult) -> str:
    time = option.step_s if option.time_s is None else option.time_s
    guess = "?" if option.guessed_speed else ""
    shown = f"{render_duration(time)}{guess}" if time is not None else "-"
    return f"{render_bytes(option.high_bytes):>14} {shown:>12} {_cost(option):>10}  {option.written or 'as it is'}"


def _cost(option: OptionResult) -> str:
    """Return what an option costs; or what 1000 steps cost, or an hour, as far as that is known."""
    if option.cost_usd is not None:
        return render_usd(option.cost_usd)
    if not option.usd_per_hour:
        return "-"
    if option.step_s is None:
        return f"{render_usd(option.usd_per_hour)}/h"
    return render_usd(option.usd_per_hour * option.step_s * STEPS / HOUR_S)


def _because(result: PlanResult) -> Iterator[str]:
    yield style("what this rests on", bold=True)
    for reason in result.because:
        yield f"  {style(reason, dim=True)}"
