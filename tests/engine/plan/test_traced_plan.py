"""A plan whose step was traced: the trace's numbers stand where the closed form's were, and both are named."""

from dataclasses import replace

import pytest

from holdfast.catalog.hub.flavors import table_prices
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.card import estimate_memory, workspaces
from holdfast.engine.plan.hardware import find_hardware
from holdfast.engine.plan.options import PlanOption, fits_hardware
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.trace_growth import grow_stream
from holdfast.engine.plan.trace_stream import repeat_step
from holdfast.engine.plan.traced import trace_memory, with_trace
from holdfast.engine.plan.traced_step import TracedStep, play
from holdfast.payload.tracing.request import TraceAnswer
from tests.helpers.made_streams import made_stream
from tests.helpers.training_steps import training_step

ANSWERS = [made_stream(2), made_stream(3)]


def traced(step: TrainingStep, *, expandable: bool = True) -> MemoryEstimate:
    closed = estimate_memory(step, expandable=expandable)
    return trace_memory(step, TracedStep(ANSWERS, step.model.layers, 1, expandable), closed, gpu=None)


def option(memory: MemoryEstimate, hardware: Hardware, **settings: int) -> PlanOption:
    fits = fits_hardware(memory, hardware)
    return PlanOption(hardware=hardware, settings=settings, memory=memory, fits=fits, seconds=None, usd=None)


@pytest.mark.parametrize("expandable", [False, True])
def test_phases_are_those_of_the_trace_with_all_layers(*, expandable: bool) -> None:
    step = training_step()
    memory = traced(step, expandable=expandable)
    layers = step.model.layers
    sizes = {phase.name: phase.bytes - workspaces(None).bytes for phase in memory.phases}
    assert sizes["load"] == 2048 * layers
    assert sizes["optimizer"] == (2048 + 2048 + 4096) * layers
    assert memory.reserved is not None
    assert memory.reserved >= memory.allocated
    assert memory.card.low <= memory.card.value <= memory.card.high


def test_terms_name_both_the_trace_and_the_closed_form() -> None:
    memory = traced(training_step())
    optimizer = next(phase for phase in memory.phases if phase.name == "optimizer")
    reasons = {term.name: term.because for term in optimizer.terms}
    assert reasons["weights"] == "traced; closed form: 14.5 GB"
    assert next(phase for phase in memory.phases if phase.name == "load").terms[0].because == "traced"


def test_the_terms_of_the_card_add_up() -> None:
    memory = traced(training_step())
    every = (*memory.peak.terms, *memory.beside)
    assert sum(term.bytes for term in every) == pytest.approx(memory.card.value, abs=2)


def test_options_with_other_settings_keep_the_closed_form() -> None:
    step = training_step()
    closed = estimate_memory(step, expandable=True)
    small, large = find_hardware("t4-small", prices=None), find_hardware("h200", prices=None)
    as_is, changed = option(closed, small), option(closed, large, batch=1)
    plan = JobPlan(
        step=step,
        chosen=as_is,
        as_is=as_is,
        options=[option(closed, large), changed],
        no_time="",
        because=(),
        prices=table_prices(),
    )
    found = with_trace(plan, TracedStep(ANSWERS, step.model.layers, 1, expandable=True))
    assert not as_is.fits
    assert not found.as_is.fits  # the stream is of a tiny step, but bounds are those of the closed form
    assert found.chosen == found.as_is
    assert [each.memory.reserved is None for each in found.options] == [False, True]
    assert found.closed_form == closed
    assert "2 and 3 of 32 layers" in found.because[0]


def test_what_does_not_fit_by_the_trace_is_no_option() -> None:
    step = training_step(batch=1, length=16, checkpointing=True)
    huge = [enlarged(enlarged(each)) for each in ANSWERS]
    closed = estimate_memory(step, expandable=True)
    here = option(closed, find_hardware("h200", prices=None))
    plan = JobPlan(
        step=step,
        chosen=here,
        as_is=here,
        options=[here],
        no_time="",
        because=(),
        prices=table_prices(),
    )
    found = with_trace(plan, TracedStep(huge, step.model.layers, 1, expandable=True))
    assert here.fits
    assert not found.options
    assert not found.as_is.fits


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("layers", [4, 10, 100])
def test_reserved_memory_is_that_of_a_stream_with_all_layers(*, layers: int, expandable: bool) -> None:
    few, many, whole = (enlarged(made_stream(count)) for count in (2, 3, layers))
    grown = grow_stream(few, many, layers, 1)
    assert grown is not None
    found, expected = (
        play(repeat_step(each), workspaces(None).bytes, expandable=expandable).reserved for each in (grown, whole)
    )
    assert found == expected


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("part", [0.6, 0.99, 1.0, 2.0])
def test_a_card_that_is_never_full_changes_nothing(*, part: float, expandable: bool) -> None:
    """The simulation is computed once for all cards that hold what it reserves, and again for one that does not."""
    traced_step = TracedStep([enlarged(each) for each in ANSWERS], 10, 1, expandable)
    workspace = workspaces(None).bytes
    roomy = traced_step.history(workspace)
    assert roomy is not None
    assert traced_step.stream is not None
    capacity = round(roomy.reserved * part)
    again = play(traced_step.stream, workspace, expandable=expandable, capacity=capacity)
    assert traced_step.history(workspace, capacity) == again


def test_where_layers_are_not_alike_reserved_memory_is_not_known() -> None:
    step = training_step()
    closed = estimate_memory(step, expandable=True)
    other = made_stream(3, kept=4096)
    memory = trace_memory(
        step, TracedStep([ANSWERS[0], other], step.model.layers, 1, expandable=True), closed, gpu=None
    )
    assert memory.reserved is None
    assert memory.allocated < memory.card.value < memory.card.high


def enlarged(stream: TraceAnswer) -> TraceAnswer:
    return replace(stream, sizes=tuple(size * 10_000 for size in stream.sizes))
