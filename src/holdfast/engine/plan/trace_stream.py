"""The stream of a traced step: what is alive when, and how it is with more layers than were traced."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

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


NO_PEAK: Final = SectionPeak(-1, ())
"""Below every peak."""


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
    first, last = (_first_event(answer, phase) for phase in ("forward", "evaluation"))
    again = StepAgain.of(answer, first, last)
    evaluated = next(
        (place for place, mark in enumerate(answer.marks) if mark.phase == "evaluation"), len(answer.marks)
    )
    repeated = [
        replace(mark, event=last + again.places[mark.event - first])
        for mark in answer.marks[:evaluated]
        if first <= mark.event <= last and mark.phase != "load"
    ]
    rest = [replace(mark, event=mark.event + len(again.events)) for mark in answer.marks[evaluated:]]
    return replace(
        answer,
        sizes=(*answer.sizes, *again.sizes),
        tags=(*answer.tags, *again.tags),
        events=(*answer.events[:last], *again.events, *answer.events[last:]),
        marks=(*answer.marks[:evaluated], *repeated, *rest),
    )


def _first_event(answer: TraceAnswer, phase: TracedPhase) -> int:
    """Return the number of the first event of a phase; that of the end if there is no such phase."""
    return next((mark.event for mark in answer.marks if mark.phase == phase), len(answer.events))


@dataclass(slots=True)
class StepAgain:
    """The events of a second step: as those of the first, without what is there from the first.

    Attributes:
        events: Births by new numbers, and ends.
        sizes: Bytes of what is born.
        tags: Their purposes.
        places: For each event of the first step, how many of these come before it; at last, how many there are.
    """

    events: list[int] = field(default_factory=list[int])
    sizes: list[int] = field(default_factory=list[int])
    tags: list[int] = field(default_factory=list[int])
    places: list[int] = field(default_factory=list[int])

    @classmethod
    def of(cls, answer: TraceAnswer, first: int, last: int) -> Self:
        """Return those of a trace whose first step is from one event to another."""
        step, renamed, found = answer.events[first:last], dict[int, int](), cls()
        stays = _born(answer.events[:first]) | (_born(step) - {-event for event in step if event < 0})
        for event in step:
            found.places.append(len(found.events))
            born = abs(event)
            if born in stays:
                continue
            if event > 0:
                found.sizes.append(answer.sizes[born - 1])
                found.tags.append(answer.tags[born - 1])
                renamed[born] = len(answer.sizes) + len(found.sizes)
            found.events.append(renamed[born] if event > 0 else -renamed[born])
        found.places.append(len(found.events))
        return found


def _born(events: Iterable[int]) -> set[int]:
    return {event for event in events if event > 0}


def section_peaks(answer: TraceAnswer) -> dict[Section, SectionPeak]:
    """Return what is alive at the peak of each section; of one that comes again, at its highest."""
    sizes = [rounded(size) for size in answer.sizes]
    alive, parts, found = 0, [0] * len(TAGS), dict[Section, SectionPeak]()
    for section, events in _sections(answer):
        highest = found.get(section, NO_PEAK).bytes
        for event in events:
            place = abs(event) - 1
            size = sizes[place] if event > 0 else -sizes[place]
            alive += size
            parts[answer.tags[place]] += size
            if event > 0 and alive > highest:
                highest = alive
                found[section] = SectionPeak(alive, tuple(parts))
        found.setdefault(section, SectionPeak(alive, tuple(parts)))
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
