"""The timeline of a traced step: what is allocated and reserved from event to event, and what is alive at the peak."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from holdfast.core.plan.estimate import PhaseName
from holdfast.engine.plan.trace_stream import rounded
from holdfast.engine.plan.traced_step import NAMES, TracedStep, load_events
from holdfast.payload.tracing.request import TAGS, TraceAnswer
from holdfast.results.plan import PlanLiveTensors, PlanTimeline, PlanTimelinePeak, PlanTimelinePhase

BUCKETS: Final = 100
"""Parts of the timeline; each keeps its lowest and its highest moment, so that no peak is lost."""
MOST_TENSORS: Final = 24
"""Kinds of tensors that are listed of a peak: the rest is small."""
WORKSPACE: Final = "overhead"
"""The purpose of the workspaces of cuBLAS, which are there from the first step on."""


def trace_timeline(traced: TracedStep, workspace: int) -> PlanTimeline | None:
    """Return the timeline of two steps; None if the layers of the model are not alike.

    Args:
        traced: The traced step.
        workspace: Bytes of both workspaces of cuBLAS.
    """
    stream, history = traced.stream, traced.history(workspace)
    if stream is None or history is None:
        return None
    load = load_events(stream)
    changes = _changes(stream)
    totals = [total + workspace * (place >= load) for place, total in enumerate(accumulate(changes))]
    places = _places(totals)
    allocated = dict(_allocated(stream, changes, places))
    if workspace:
        allocated[WORKSPACE] = [workspace * (place >= load) for place in places]
    phases = list(_phases(stream))
    return PlanTimeline(
        events=len(stream.events),
        at=places,
        reserved_bytes=[history.course[place] for place in places],
        allocated_bytes=allocated,
        phases=phases,
        peak=_peak(stream, totals, phases),
    )


def _changes(stream: TraceAnswer) -> list[int]:
    """Return the bytes that each event adds; below 0 if it ends something."""
    sizes = [rounded(size) for size in stream.sizes]
    return [sizes[event - 1] if event > 0 else -sizes[-event - 1] for event in stream.events]


def _places(totals: Sequence[int]) -> list[int]:
    """Return the events to show: the lowest and the highest of each part, and the ends."""
    width = max(1, -(-len(totals) // BUCKETS))
    found = {0, len(totals) - 1} if totals else set[int]()
    for first in range(0, len(totals), width):
        part = range(first, min(first + width, len(totals)))
        found |= {min(part, key=totals.__getitem__), max(part, key=totals.__getitem__)}
    return sorted(found)


def _allocated(
    stream: TraceAnswer, changes: Sequence[int], places: Sequence[int]
) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield each purpose with its bytes at some events."""
    purposes = [stream.tags[abs(event) - 1] for event in stream.events]
    for number in sorted(set(purposes)):
        course = list(
            accumulate(change if purpose == number else 0 for purpose, change in zip(purposes, changes, strict=True))
        )
        yield TAGS[number], [course[place] for place in places]


def _phases(stream: TraceAnswer) -> Iterator[PlanTimelinePhase]:
    """Yield where phases begin. A step begins after the optimizer of the one before."""
    step, before = 0, ""
    for mark in stream.marks:
        name: PhaseName = NAMES[mark.phase]
        if name == before:
            continue
        if before in {"load", "optimizer"} and name != "evaluation":
            step += 1
        yield PlanTimelinePhase(name=name, step=step, event=mark.event)
        before = name


def _peak(stream: TraceAnswer, totals: Sequence[int], phases: Sequence[PlanTimelinePhase]) -> PlanTimelinePeak:
    """Return the moment at which most is allocated, and what is alive then."""
    event = max(range(len(totals)), key=totals.__getitem__)
    phase = _phase_at(phases, event)
    alive: dict[int, int] = {}
    for place, each in enumerate(stream.events[: event + 1]):
        if each > 0:
            alive[each] = place
        else:
            alive.pop(-each, None)
    kinds = Counter(
        (TAGS[stream.tags[each - 1]], _phase_at(phases, place).name, rounded(stream.sizes[each - 1]))
        for each, place in alive.items()
    )
    largest = sorted(kinds.items(), key=lambda item: -item[0][2] * item[1])[:MOST_TENSORS]
    tensors = [PlanLiveTensors(name=name, phase=born, bytes=size, count=count) for (name, born, size), count in largest]
    return PlanTimelinePeak(event=event, phase=phase.name, step=phase.step, bytes=totals[event], tensors=tensors)


def _phase_at(phases: Sequence[PlanTimelinePhase], event: int) -> PlanTimelinePhase:
    return next((each for each in reversed(phases) if each.event <= event), phases[0])
