"""The page of a traced step: self-contained, escaped, and with the plan's numbers."""

import re
from dataclasses import replace

import pytest
from msgspec import convert, structs

import holdfast
from holdfast.engine.plan.timeline import trace_timeline
from holdfast.engine.plan.traced_step import TracedStep
from holdfast.engine.report.timeline import draw_timeline, render_timeline
from holdfast.engine.units import render_bytes
from holdfast.results.plan import PlanResult, PlanTimeline
from tests.helpers.made_streams import made_stream

HOSTILE = "<script>alert(\"1\")</script> & 'job'.yaml"


@pytest.fixture(scope="module")
def timeline() -> PlanTimeline:
    large = [replace(each, sizes=tuple(size * 100_000 for size in each.sizes)) for each in map(made_stream, (2, 3))]
    found = trace_timeline(TracedStep(large, 30, 1, expandable=True), 1 << 24)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def page(timeline: PlanTimeline) -> str:
    planned = convert(holdfast.plan("examples/quickstart.yaml", offline=True), PlanResult)
    assert planned.memory is not None
    return render_timeline(structs.replace(planned, path=HOSTILE, because=[HOSTILE]), planned.memory, timeline)


def test_the_page_is_self_contained_and_small(page: str) -> None:
    assert not re.search(r"<(?:script|link|img|iframe)|\burl\(|@import|https?://", page)
    assert len(page) < 100_000


def test_what_others_wrote_is_escaped(page: str) -> None:
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(" in page


def test_the_page_says_what_is_alive_at_the_peak(page: str, timeline: PlanTimeline) -> None:
    assert f"{render_bytes(timeline.peak.bytes)} at the peak, in the backward phase of step 2" in page
    for each in timeline.peak.tensors[:3]:
        row = "".join(
            f"<td>{cell}</td>"
            for cell in (
                each.name,
                each.phase,
                render_bytes(each.bytes),
                each.count,
                render_bytes(each.bytes * each.count),
            )
        )
        assert row in page


def test_every_phase_is_marked_and_areas_are_stacked(timeline: PlanTimeline) -> None:
    plot = draw_timeline(timeline)
    assert len(plot.marks) == len(timeline.phases)
    assert {mark.text for mark in plot.marks} >= {"forward", "backward"}
    assert [tick.text for tick in plot.x_ticks] == ["step 1", "step 2"]
    areas = [trace for trace in plot.traces if trace.role.startswith("area")]
    # What is stacked higher ends higher, and is drawn before what is below it (the template draws from the last to the first).
    last = [float(re.findall(r"L[\d.]+ ([\d.]+)V100Z", area.path)[0]) for area in areas]
    assert last == sorted(last, reverse=True)
    assert [area.name for area in areas] == ["weights", "optimizer", "gradients", "activations", "overhead"]


def test_the_reserved_line_is_never_below_what_is_allocated(timeline: PlanTimeline) -> None:
    plot = draw_timeline(timeline)
    reserved = next(trace for trace in plot.traces if trace.name == "reserved")
    top = [trace for trace in plot.traces if trace.role.startswith("area")][-1]
    heights = [[float(y) for y in re.findall(r"[ML][\d.e+-]+ ([\d.e+-]+)", each.path)] for each in (reserved, top)]
    assert all(line <= area for line, area in zip(heights[0], heights[1][1:], strict=True))
