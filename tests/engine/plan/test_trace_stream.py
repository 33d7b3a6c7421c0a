"""The stream of a traced step, counted by hand."""

import pytest

from holdfast.engine.plan.trace_stream import phase_peaks, repeat_step, section_peaks
from holdfast.payload.tracing.request import TAGS, TraceAnswer, TraceMark

WEIGHT, GRADIENT, STATE, HIDDEN = (TAGS.index(name) for name in ("weights", "gradients", "optimizer", "activations"))


def stream(layers: int, *, kept: int = 1024, state: int = 4096) -> TraceAnswer:
    """Return a step of layers with a weight each, that keep something and have a gradient each; the optimizer keeps a state of each."""
    sizes: list[int] = []
    tags: list[int] = []
    events: list[int] = []
    marks = [TraceMark(0, "load", -1)]

    def born(size: int, tag: int) -> int:
        sizes.append(size)
        tags.append(tag)
        events.append(len(sizes))
        return len(sizes)

    for _ in range(layers):
        born(2048, WEIGHT)
    hidden = []
    for layer in range(layers):
        marks.append(TraceMark(len(events), "forward", layer))
        hidden.append(born(kept, HIDDEN))
    marks.append(TraceMark(len(events), "loss", -1))
    gradients = []
    for layer in reversed(range(layers)):
        marks.append(TraceMark(len(events), "backward", layer))
        gradients.append(born(2048, GRADIENT))
        events.append(-hidden[layer])
    marks.append(TraceMark(len(events), "optimizer", -1))
    for _ in range(layers):
        born(state, STATE)
    events.extend(-each for each in gradients)
    return TraceAnswer(layers=layers, sizes=tuple(sizes), tags=tuple(tags), events=tuple(events), marks=tuple(marks))


def test_the_second_step_finds_the_states_of_the_first() -> None:
    peaks = section_peaks(repeat_step(stream(2)))
    assert peaks["load", -1].bytes == 2 * 2048
    assert peaks["forward", 0].bytes == 2 * 2048 + 2 * 4096 + 1024
    assert peaks["optimizer", -1].bytes == 2 * (2048 + 4096 + 2048)
    assert peaks["optimizer", -1].parts[STATE] == 2 * 4096


def test_a_repeated_stream_ends_each_allocation_once() -> None:
    repeated = repeat_step(stream(3))
    ended = [-event for event in repeated.events if event < 0]
    assert len(ended) == len(set(ended)) == 2 * 6
    assert {each for each in repeated.events if each > 0} == set(range(1, len(repeated.sizes) + 1))


@pytest.mark.parametrize("kept", [512, 2048, 4096, 100_000])
def test_two_depths_tell_of_a_third_wherever_its_peak_is(kept: int) -> None:
    """The backward pass needs most at its beginning or at its end, by what is larger: what layers keep, or their gradients."""
    few = [stream(2, kept=kept), stream(3, kept=kept)]
    whole = phase_peaks([stream(40, kept=kept)], 40)
    grown = phase_peaks(few, 40)
    assert {phase: peak.bytes for phase, peak in grown.items()} == {phase: peak.bytes for phase, peak in whole.items()}
    assert grown["backward"].parts == whole["backward"].parts
