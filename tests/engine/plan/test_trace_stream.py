"""The stream of a traced step, counted by hand."""

import pytest

from holdfast.engine.plan.trace_stream import phase_peaks, repeat_step, section_peaks
from tests.helpers.made_streams import STATE, made_stream


def test_the_second_step_finds_the_states_of_the_first() -> None:
    peaks = section_peaks(repeat_step(made_stream(2)))
    assert peaks["load", -1].bytes == 2 * 2048
    assert peaks["forward", 0].bytes == 2 * 2048 + 2 * 4096 + 1024
    assert peaks["optimizer", -1].bytes == 2 * (2048 + 4096 + 2048)
    assert peaks["optimizer", -1].parts[STATE] == 2 * 4096


def test_a_repeated_stream_ends_each_allocation_once() -> None:
    repeated = repeat_step(made_stream(3))
    ended = [-event for event in repeated.events if event < 0]
    assert len(ended) == len(set(ended)) == 2 * 6
    assert {each for each in repeated.events if each > 0} == set(range(1, len(repeated.sizes) + 1))


@pytest.mark.parametrize("kept", [512, 2048, 4096, 100_000])
def test_two_depths_tell_of_a_third_wherever_its_peak_is(kept: int) -> None:
    """The backward pass needs most at its beginning or at its end, by what is larger: what layers keep, or their gradients."""
    few = [made_stream(2, kept=kept), made_stream(3, kept=kept)]
    whole = phase_peaks([made_stream(40, kept=kept)], 40)
    grown = phase_peaks(few, 40)
    assert {phase: peak.bytes for phase, peak in grown.items()} == {phase: peak.bytes for phase, peak in whole.items()}
    assert grown["backward"].parts == whole["backward"].parts
