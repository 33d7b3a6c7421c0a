"""The page of a traced step: its memory as stacked areas over the events of two steps, and what is alive at the peak.

Pure: values in, text out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from holdfast.engine.report.chart import Axis, Dot, Plot, Tick, Trace, evenly, make_axis, spell_tick
from holdfast.engine.report.page import TEMPLATES
from holdfast.engine.report.tables import Figure
from holdfast.engine.units import render_bytes
from holdfast.results.plan import PlanMemory, PlanPhase, PlanResult, PlanTimeline

BOTTOM_UP: Final = (
    *("weights", "reference", "optimizer", "gradients"),
    *("activations", "logits", "generation", "overhead"),
)
"""Purposes in the order in which areas are stacked: what stays is below what comes and goes."""
READINGS: Final = 100
LETTER: Final = 1.1
"""Percent of the chart's width that a letter of a label needs; on narrow screens there are no labels."""
HEADROOM: Final = 1.1
"""The height of the chart by what is drawn: labels stand above it."""
SHOWN: Final = 12
"""Kinds of tensors in the table; the others are one row."""


@dataclass(frozen=True, slots=True)
class TensorRow:
    """Tensors that are alive at the peak, as a row of a table."""

    name: str
    phase: str
    each: str
    count: str
    total: str
    share: str


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """A phase at its own peak, as a row of a table: its name, all that is allocated, and each purpose."""

    name: str
    total: str
    purposes: Sequence[str]


def render_timeline(result: PlanResult, memory: PlanMemory, timeline: PlanTimeline) -> str:
    """Return the page. It needs nothing beside itself: no network, no script, no font.

    Args:
        result: The plan.
        memory: Its memory.
        timeline: Its timeline.
    """
    purposes = [name for name in BOTTOM_UP if any(term.name == name for phase in memory.phases for term in phase.terms)]
    peak = timeline.peak
    return TEMPLATES.get_template("timeline.html.jinja").render(
        path=result.path,
        model=result.model,
        verdict=f"{render_bytes(peak.bytes)} at the peak, in the {peak.phase} phase of step {peak.step}",
        figures=list(_figures(result, memory)),
        plot=draw_timeline(timeline),
        events=timeline.events,
        tensors=list(_tensor_rows(timeline)),
        purposes=purposes,
        phases=[_phase_row(phase, purposes) for phase in memory.phases],
        because=result.because,
    )


def draw_timeline(timeline: PlanTimeline) -> Plot:
    """Lay out the chart: an area for each purpose, a line for what is reserved, a dot at the peak."""
    names = [name for name in BOTTOM_UP if name in timeline.allocated_bytes]
    columns = zip(*(timeline.allocated_bytes[name] for name in names), strict=True)
    stacks = [list(accumulate(column)) for column in columns]
    x = make_axis(0, max(1, timeline.events - 1))
    y = make_axis(0, max(*timeline.reserved_bytes, timeline.peak.bytes, 1) * HEADROOM)
    peak = timeline.peak
    at_peak = timeline.at.index(peak.event)
    line = Trace("reserved", "reserved", render_bytes(max(timeline.reserved_bytes)), _line(timeline, x, y))
    dot = Dot(x.percent(peak.event), y.from_top(peak.bytes), f"peak: {render_bytes(peak.bytes)}")
    return Plot(
        title="Memory over two steps",
        summary=_summary(timeline),
        x_ticks=tuple(_steps(timeline, x)),
        y_ticks=tuple(Tick(y.from_top(tick), _spell_bytes(tick)) for tick in y.ticks),
        traces=(
            Trace("peak", "dots", render_bytes(peak.bytes), "", (dot,)),
            line,
            *(
                Trace(
                    name,
                    f"area {name}",
                    render_bytes(timeline.allocated_bytes[name][at_peak]),
                    _area(timeline, stacks, place, x, y),
                )
                for place, name in enumerate(names)
            ),
        ),
        readings=tuple(_readings(timeline, names, x)),
        marks=tuple(_marks(timeline, x)),
    )


def _line(timeline: PlanTimeline, x: Axis, y: Axis) -> str:
    points = zip(timeline.at, timeline.reserved_bytes, strict=True)
    return "M" + "L".join(f"{x.percent(at):g} {y.from_top(value):g}" for at, value in points)


def _area(timeline: PlanTimeline, stacks: Sequence[Sequence[int]], place: int, x: Axis, y: Axis) -> str:
    """Return everything up to a purpose, down to the axis: areas of what is stacked below are drawn over it."""
    upper = zip(timeline.at, (stack[place] for stack in stacks), strict=True)
    return "M0 100" + "".join(f"L{x.percent(at):g} {y.from_top(value):g}" for at, value in upper) + "V100Z"


def _spell_bytes(tick: float) -> str:
    """Write a tick.

    >>> _spell_bytes(0), _spell_bytes(2.5e9)
    ('0 B', '2.5 GB')
    """
    text = spell_tick(tick)
    return f"{text[:-1]} {text[-1]}B" if text[-1].isalpha() else f"{text} B"


def _steps(timeline: PlanTimeline, x: Axis) -> Iterator[Tick]:
    """Yield a label below the middle of each step."""
    begins: dict[int, int] = {}
    for phase in timeline.phases:
        if phase.step:
            begins.setdefault(phase.step, phase.event)
    ends = [*list(begins.values())[1:], timeline.events]
    for (step, begin), end in zip(begins.items(), ends, strict=True):
        yield Tick(x.percent((begin + end) / 2), f"step {step}")


def _marks(timeline: PlanTimeline, x: Axis) -> Iterator[Tick]:
    """Yield where phases begin; those that are too narrow for a label have none."""
    ends = [*(phase.event for phase in timeline.phases[1:]), timeline.events]
    for phase, end in zip(timeline.phases, ends, strict=True):
        wide = x.percent(end) - x.percent(phase.event) >= LETTER * len(phase.name)
        yield Tick(x.percent(phase.event), phase.name if wide else "")


def _readings(timeline: PlanTimeline, names: Sequence[str], x: Axis) -> Iterator[Tick]:
    """Yield what is allocated and reserved at some events."""
    for place in evenly(range(len(timeline.at)), READINGS):
        at = timeline.at[place]
        parts = {name: timeline.allocated_bytes[name][place] for name in names}
        phase = next((each for each in reversed(timeline.phases) if each.event <= at), timeline.phases[0])
        listed = ", ".join(f"{name} {render_bytes(size)}" for name, size in parts.items() if size)
        where = f"step {phase.step}, {phase.name}" if phase.step else phase.name
        reserved = render_bytes(timeline.reserved_bytes[place])
        yield Tick(
            x.percent(at), f"{where}: {render_bytes(sum(parts.values()))} allocated ({listed}); {reserved} reserved"
        )


def _summary(timeline: PlanTimeline) -> str:
    peak, reserved = timeline.peak, render_bytes(max(timeline.reserved_bytes))
    return (
        f"Memory over two steps: at most {render_bytes(peak.bytes)} allocated, in the {peak.phase} phase of step {peak.step}, "
        f"and {reserved} reserved."
    )


def _figures(result: PlanResult, memory: PlanMemory) -> Iterator[Figure]:
    yield Figure("Torch allocates", render_bytes(memory.allocated_bytes), "max_memory_allocated")
    if memory.reserved_bytes is not None:
        yield Figure("The allocator reserves", render_bytes(memory.reserved_bytes), "simulated")
    between = f"{render_bytes(memory.low_bytes)} to {render_bytes(memory.high_bytes)}"
    yield Figure("The card must have", render_bytes(memory.peak_bytes), between)
    if result.hardware and result.card_bytes is not None:
        fits = "fits" if result.fits else "may not fit"
        yield Figure(result.hardware, render_bytes(result.card_bytes), f"for a process; the job {fits}")


def _tensor_rows(timeline: PlanTimeline) -> Iterator[TensorRow]:
    """Yield what is alive at the peak, the largest first."""
    peak, shown = timeline.peak, 0
    for each in timeline.peak.tensors[:SHOWN]:
        total = each.bytes * each.count
        shown += total
        share = f"{total / peak.bytes:.1%}"
        yield TensorRow(each.name, each.phase, render_bytes(each.bytes), f"{each.count:,}", render_bytes(total), share)
    if (rest := peak.bytes - shown) > 0:
        yield TensorRow("all others", "", "", "", render_bytes(rest), f"{rest / peak.bytes:.1%}")


def _phase_row(phase: PlanPhase, purposes: Sequence[str]) -> PhaseRow:
    sizes: Mapping[str, int] = {name: sum(term.bytes for term in phase.terms if term.name == name) for name in purposes}
    return PhaseRow(
        phase.name, render_bytes(phase.bytes), [render_bytes(size) if size else "" for size in sizes.values()]
    )
