"""The timeline of a traced step: what is allocated and reserved over two steps, and what is alive at the peak."""

from dataclasses import replace

import pytest

from holdfast.engine.plan.timeline import trace_timeline
from holdfast.engine.plan.traced_step import TracedStep
from holdfast.payload.tracing.request import TraceMark
from holdfast.results.plan import PlanTimeline
from tests.helpers.made_streams import made_stream

LAYERS, WORKSPACE = 40, 4096


def timeline(layers: int = LAYERS, workspace: int = WORKSPACE, *, expandable: bool = True) -> PlanTimeline:
    found = trace_timeline(TracedStep([made_stream(2), made_stream(3)], layers, 1, expandable), workspace)
    assert found is not None
    return found


def test_phases_are_those_of_two_steps_in_order() -> None:
    phases = [(phase.step, phase.name) for phase in timeline().phases]
    step = ("forward", "loss", "backward", "optimizer")
    assert phases == [(0, "load"), *((1, name) for name in step), *((2, name) for name in step)]
    assert [phase.event for phase in timeline().phases] == sorted(phase.event for phase in timeline().phases)


@pytest.mark.parametrize("layers", [4, 40, 400])
def test_the_peak_is_that_of_all_events_and_is_in_the_timeline(layers: int) -> None:
    found = timeline(layers)
    # In the second step: weights, states and gradients of all layers, and what the first layer keeps.
    assert found.peak.bytes == (2048 + 4096) * layers + 2048 * layers + 1024 + WORKSPACE
    assert (found.peak.step, found.peak.phase) == (2, "backward")
    totals = [sum(values) for values in zip(*found.allocated_bytes.values(), strict=True)]
    assert totals[found.at.index(found.peak.event)] == max(totals) == found.peak.bytes
    assert all(reserved >= total for reserved, total in zip(found.reserved_bytes, totals, strict=True))
    assert len(found.at) <= 202
    assert found.at[-1] == found.events - 1


def test_tensors_at_the_peak_are_counted_by_purpose_phase_and_size() -> None:
    found = timeline()
    tensors = {(each.name, each.phase, each.bytes): each.count for each in found.peak.tensors}
    assert tensors["weights", "load", 2048] == LAYERS
    assert tensors["optimizer", "optimizer", 4096] == LAYERS
    sizes = sum(each.bytes * each.count for each in found.peak.tensors)
    assert sizes + WORKSPACE == found.peak.bytes


def test_without_workspaces_there_is_no_overhead() -> None:
    assert "overhead" not in timeline(workspace=0).allocated_bytes
    assert timeline().allocated_bytes["overhead"][0] == 0
    assert timeline().allocated_bytes["overhead"][-1] == WORKSPACE


def test_an_evaluation_belongs_to_the_step_before() -> None:
    stream = made_stream(2)
    evaluated = replace(
        stream,
        sizes=(*stream.sizes, 512),
        tags=(*stream.tags, stream.tags[-1]),
        events=(*stream.events, len(stream.sizes) + 1, -len(stream.sizes) - 1),
        marks=(*stream.marks, TraceMark(len(stream.events), "evaluation", -1)),
    )
    found = trace_timeline(TracedStep([evaluated], 2, 1, expandable=True), 0)
    assert found is not None
    assert (found.phases[-1].step, found.phases[-1].name) == (2, "evaluation")


def test_there_is_none_where_layers_are_not_alike() -> None:
    unlike = TracedStep([made_stream(2), made_stream(3, kept=4096)], 8, 1, expandable=True)
    assert trace_timeline(unlike, 0) is None
