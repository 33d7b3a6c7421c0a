"""The stream of a traced step: what is alive when, and how it is with more layers than were traced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.payload.tracing.request import TAGS, TraceAnswer, TracedPhase

BLOCK: Final = 512
"""Bytes that the allocator rounds up to. Source: c10/core/AllocatorConfig.h, kMinBlockSize."""
Section = tuple[TracedPhase, int]
"""A part of a phase: the phase, and the layer at work; below 0 if there is none."""


@dataclass(frozen=True, slots=True)
class SectionPeak:
    """What is alive when a section needs most.

    Attributes:
        bytes: All of it.
        parts: What it is for, as bytes by the place of the purpose in `TAGS`.
    """

    bytes: float
    parts: tuple[float, ...]


def rounded(size: int) -> int:
    """Return the bytes of a block that holds as many.

    >>> rounded(1), rounded(512), rounded(513)
    (512, 512, 1024)
    """
    return -(-size // BLOCK) * BLOCK


def repeat_step(answer: TraceAnswer) -> TraceAnswer:
    """Return the stream of a first and a second step: in the second, the optimizer's states are there from the beginning.

    What the first one leaves behind, the second finds; all else it makes again.
    """
    first = next((mark.event for mark in answer.marks if mark.phase == "forward"), len(answer.events))
    last = next((mark.event for mark in answer.marks if mark.phase == "evaluation"), len(answer.events))
    step = answer.events[first:last]
    before = {event for event in answer.events[:first] if event > 0}
    kept = {event for event in step if event > 0} - {-event for event in step if event < 0}
    sizes, tags, again = list(answer.sizes), list(answer.tags), list[int]()
    renamed: dict[int, int] = {}
    places: list[int] = []
    for event in step:
        places.append(len(again))
        born = abs(event)
        if born in kept or born in before:
            continue
        if event > 0:
            sizes.append(answer.sizes[born - 1])
            tags.append(answer.tags[born - 1])
            renamed[born] = len(sizes)
        again.append(renamed[born] if event > 0 else -renamed[born])
    places.append(len(again))
    evaluated = next(
        (place for place, mark in enumerate(answer.marks) if mark.phase == "evaluation"), len(answer.marks)
    )
    repeated = [
        replace(mark, event=last + places[mark.event - first])
        for mark in answer.marks[:evaluated]
        if first <= mark.event <= last and mark.phase != "load"
    ]
    rest = [replace(mark, event=mark.event + len(again)) for mark in answer.marks[evaluated:]]
    return replace(
        answer,
        sizes=tuple(sizes),
        tags=tuple(tags),
        events=(*answer.events[:last], *again, *answer.events[last:]),
        marks=(*answer.marks[:evaluated], *repeated, *rest),
    )


def section_peaks(answer: TraceAnswer) -> dict[Section, SectionPeak]:
    """Return what is alive at the peak of each section; of one that comes again, at its highest."""
    sizes = [rounded(size) for size in answer.sizes]
    alive, parts, found = 0, [0] * len(TAGS), dict[Section, SectionPeak]()
    for section, events in _sections(answer):
        for event in events:
            place = abs(event) - 1
            size = sizes[place] if event > 0 else -sizes[place]
            alive += size
            parts[answer.tags[place]] += size
            if event > 0 and (section not in found or alive > found[section].bytes):
                found[section] = SectionPeak(alive, tuple(parts))
        if section not in found:
            found[section] = SectionPeak(alive, tuple(parts))
    return found


def _sections(answer: TraceAnswer) -> Iterator[tuple[Section, Sequence[int]]]:
    ends = [*(mark.event for mark in answer.marks[1:]), len(answer.events)]
    for mark, end in zip(answer.marks, ends, strict=True):
        yield (mark.phase, mark.layer), answer.events[mark.event : end]


def phase_peaks(answers: Sequence[TraceAnswer], layers: int, period: int = 1) -> dict[TracedPhase, SectionPeak]:
    """Return the peak of each phase of a model of some layers.

    Args:
        answers: The trace of the whole model; or two, of few layers, that differ by one period of layers or more.
        layers: Layers of the whole model.
        period: Layers after which their kinds repeat.
    """
    peaks = [section_peaks(repeat_step(each)) for each in answers]
    candidates = peaks[0] if len(answers) == 1 else _grown(peaks, [each.layers for each in answers], layers, period)
    found: dict[TracedPhase, SectionPeak] = {}
    for (phase, _), peak in candidates.items():
        if phase not in found or peak.bytes > found[phase].bytes:
            found[phase] = peak
    return found


def _grown(
    peaks: Sequence[Mapping[Section, SectionPeak]], depths: Sequence[int], layers: int, period: int
) -> dict[Section, SectionPeak]:
    """Return the peaks of the first and the last layers, and of what is outside of layers, of a deeper model.

    All that is alive while a layer works is affine in the number of layers, counted from either end; in between it is so in the place
    of the layer, and no higher than at one of the ends.
    """
    (few, many), (less, more) = peaks, depths
    found: dict[Section, SectionPeak] = {}
    for phase, layer in few:
        if layer < 0:
            pairs = {(layer, layer)}
        else:
            pairs = {(layer, layer)} if layer < period else set()
            pairs |= {(layer, layer + more - less)} if less - layer <= period else set()
        for near, far in pairs:
            if (phase, far) in many:
                grown = _extrapolate(few[phase, near], many[phase, far], (layers - less) / (more - less))
                key = (phase, near if near == far else near + layers - less)
                found[key] = grown
    return found


def _extrapolate(few: SectionPeak, many: SectionPeak, steps: float) -> SectionPeak:
    parts = tuple(a + (b - a) * steps for a, b in zip(few.parts, many.parts, strict=True))
    return SectionPeak(few.bytes + (many.bytes - few.bytes) * steps, parts)
