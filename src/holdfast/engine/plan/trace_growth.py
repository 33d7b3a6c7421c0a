"""The stream of a deep model, made from those of two shallow ones: layers that are alike allocate alike.

What happens in a layer is repeated for the layers that were not traced; what it ends is counted by how many layers away it began. Where
there is no layer, as in the optimizer, what the deeper of the two has more than the other is what each period of layers adds.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from holdfast.engine.plan.trace_stream import BLOCK, phase_peaks, rounded
from holdfast.payload.tracing.request import TraceAnswer, TracedPhase, TraceMark

BACKWARD: Final = "backward"
CLOSE: Final = 0.002
"""How far the peaks of a grown stream may be from those that are extrapolated."""
SLIGHT: Final = 64 << 10
"""Bytes that may differ otherwise."""
GOES_ON, ENDS = 1, 2
Token = tuple[str, int, TracedPhase]
"""What happens, to how many bytes, that began in which phase."""
Occurrence = tuple[TracedPhase, int, int]
"""A phase, a layer, and how often they were met before."""


class UnlikeLayersError(Exception):
    """Two streams do not differ as they would if layers were alike."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of a stream.

    Attributes:
        phase: Its phase.
        layer: The layer at work; below 0 if there is none.
        turn: How often phase and layer were met before.
        events: What happens in it.
    """

    phase: TracedPhase
    layer: int
    turn: int
    events: Sequence[int]

    @property
    def key(self) -> Occurrence:
        """What tells it from all others."""
        return self.phase, self.layer, self.turn


def grow_stream(few: TraceAnswer, many: TraceAnswer, layers: int, period: int) -> TraceAnswer | None:
    """Return the stream of a deeper model; None where layers are not alike.

    Args:
        few: The shallower trace.
        many: The deeper one, by one period.
        layers: Layers of the model.
        period: Layers after which their kinds repeat.
    """
    if many.layers - few.layers != period or (layers - many.layers) % period:
        return None
    try:
        grown = _Growth(few, many, (layers - many.layers) // period, period).grow(layers)
    except UnlikeLayersError:
        return None
    wanted, found = phase_peaks([few, many], layers, period), phase_peaks([grown], layers)
    near = all(abs(found[phase].bytes / peak.bytes - 1) < CLOSE for phase, peak in wanted.items() if peak.bytes)
    return grown if near else None


def _sections(answer: TraceAnswer) -> list[_Section]:
    met: dict[tuple[TracedPhase, int], int] = defaultdict(int)
    ends = [*(mark.event for mark in answer.marks[1:]), len(answer.events)]
    found = []
    for mark, end in zip(answer.marks, ends, strict=True):
        turn = met[mark.phase, mark.layer]
        met[mark.phase, mark.layer] += 1
        found.append(_Section(mark.phase, mark.layer, turn, answer.events[mark.event : end]))
    return found


@dataclass(slots=True)
class Births:
    """Where the allocations of a stream begin.

    Attributes:
        place: The section of each, and its place among those that begin there.
        order: Those that begin in a section, in order.
    """

    place: dict[int, tuple[Occurrence, int]] = field(default_factory=dict[int, tuple[Occurrence, int]])
    order: dict[Occurrence, list[int]] = field(default_factory=dict[Occurrence, list[int]])

    @classmethod
    def of(cls, sections: Sequence[_Section]) -> "Births":
        """Return those of some sections."""
        found = cls()
        for section in sections:
            born = found.order[section.key] = [event for event in section.events if event > 0]
            found.place |= {event: (section.key, place) for place, event in enumerate(born)}
        return found


class _Growth:
    """Grows one stream. Copy 0 is what was traced; copies 1 and up are the periods of layers that were not."""

    def __init__(self, few: TraceAnswer, many: TraceAnswer, copies: int, period: int) -> None:
        self.few, self.many, self.copies, self.period = few, many, copies, period
        self.shallow, self.sections = _sections(few), _sections(many)
        self.births = Births.of(self.sections)
        self.last = many.layers - 2
        """The last layer that copies follow: all before the last one of the model."""
        self.sizes: list[int] = []
        self.tags: list[int] = []
        self.events: list[int] = []
        self.marks: list[TraceMark] = []
        self.made: dict[tuple[int, int], int] = {}
        self.waiting: dict[tuple[int, Occurrence, int], list[int]] = defaultdict(list)
        """Copies outside of layers that did not end, by copy, section and size."""

    def grow(self, layers: int) -> TraceAnswer:
        """Return the stream of so many layers."""
        globals_before = iter([each for each in self.shallow if each.layer < 0])
        for section in self.sections:
            if section.layer < 0:
                self._begin(section.phase, section.layer)
                self._outside(section, next(globals_before, None))
                continue
            backward = section.phase == BACKWARD
            if backward and section.layer == self.last:
                self._copies(section, reversed(range(1, self.copies + 1)), step=-1)
            self._inside(section, section.layer, 0)
            if not backward and section.layer == self.last:
                self._copies(section, iter(range(1, self.copies + 1)), step=1)
        return TraceAnswer(
            layers=layers,
            parameters=self._affine(self.few.parameters, self.many.parameters),
            trained=self._affine(self.few.trained, self.many.trained),
            sizes=tuple(self.sizes),
            tags=tuple(self.tags),
            events=tuple(self.events),
            marks=tuple(self.marks),
            operations=self._affine(self.few.operations, self.many.operations),
            emulated=self.many.emulated,
            versions=self.many.versions,
            elapsed_s=self.few.elapsed_s + self.many.elapsed_s,
        )

    def _affine(self, few: int, many: int) -> int:
        return many + (many - few) * self.copies

    def _begin(self, phase: TracedPhase, layer: int) -> None:
        self.marks.append(TraceMark(len(self.events), phase, layer))

    def _copies(self, section: _Section, copies: Iterator[int], *, step: int) -> None:
        """Add the layers that were not traced, in the order in which the phase goes through them."""
        group = range(self.last - self.period + 1, self.last + 1)[::step]
        of_layer = {each.key: each for each in self.sections}
        for copy in copies:
            for layer in group:
                key = section.phase, layer, section.turn
                if key not in of_layer:
                    raise UnlikeLayersError
                self._inside(of_layer[key], layer, copy)

    def _inside(self, section: _Section, layer: int, copy: int) -> None:
        """Add a section of a layer, or a copy of it."""
        deep = self._deep(layer, copy)
        self._begin(section.phase, deep)
        for event in section.events:
            if event > 0:
                self._born(event, copy)
                continue
            (phase, of_layer, turn), place = self.births.place[-event]
            if of_layer < 0 or place < self._ahead((phase, of_layer, turn)):
                if copy == 0:
                    self._died(-event, 0)
                continue
            there, of_copy = self._shallow(deep - (layer - of_layer))
            self._died(self._like((phase, of_layer, turn), place, there), of_copy)

    def _outside(self, section: _Section, shallow: _Section | None) -> None:
        """Add a section outside of layers, with what each period adds to it."""
        own = self._added_by_period(section, shallow)
        block: list[int] = []
        for place, event in enumerate(section.events):
            self._pass(event)
            if place in own:
                block = [*block, event] if own[place] else []
            if own.get(place) == ENDS:
                for copy in range(1, self.copies + 1):
                    self._repeat(block, copy)
                block = []

    def _added_by_period(self, section: _Section, shallow: _Section | None) -> dict[int, int]:
        """Return the places of a section's tokens, each with what `_added` says of it."""
        if shallow is None or shallow.key != section.key:
            raise UnlikeLayersError
        before = [token for _, token in _tokens(self.few, Births.of(self.shallow), shallow)]
        tokens = list(_tokens(self.many, self.births, section))
        added = _added(before, [token for _, token in tokens])
        return {place: stop for (place, _), stop in zip(tokens, added, strict=True)}

    def _pass(self, event: int) -> None:
        """Add an event outside of layers; what ends in a layer that has copies ends in these, too."""
        if event > 0:
            self._born(event, 0)
            return
        self._died(-event, 0)
        (_, layer, _), _ = self.births.place[-event]
        if self.last - self.period < layer <= self.last:
            for copy in range(1, self.copies + 1):
                self._died(-event, copy)

    def _repeat(self, block: Sequence[int], copy: int) -> None:
        """Add a copy of what a period adds outside of layers; an end is that of something of the same section and size."""
        for event in block:
            key, _ = self.births.place[abs(event)]
            alike = self.waiting[copy, key, rounded(self.many.sizes[abs(event) - 1])]
            if event > 0:
                alike.append(self._born(event, copy))
            elif alike:
                self.events.append(-alike.pop(0))

    def _deep(self, layer: int, copy: int) -> int:
        """Return where a layer, or a copy of it, is in the deep model."""
        added = copy if layer <= self.last else self.copies
        return layer + added * self.period

    def _shallow(self, deep: int) -> tuple[int, int]:
        """Return the layer that stands for one of the deep model, and which copy of it."""
        if deep <= self.last:
            return deep, 0
        if deep > self.last + self.copies * self.period:
            return deep - self.copies * self.period, 0
        copy = -(-(deep - self.last) // self.period)
        return deep - copy * self.period, copy

    def _like(self, section: Occurrence, place: int, layer: int) -> int:
        """Return what begins in a layer as something does in another."""
        phase, _, turn = section
        there = self.births.order.get((phase, layer, turn), [])
        place += self._ahead((phase, layer, turn)) - self._ahead(section)
        if not 0 <= place < len(there):
            raise UnlikeLayersError
        return there[place]

    def _ahead(self, section: Occurrence) -> int:
        """Return how much more than the others the first layer that a phase goes through begins with, ahead of what is its own.

        Going backward, that is the norm after the layers, whose gradient may be summed into down to the first layer.
        """
        phase, layer, turn = section
        backward = phase == BACKWARD
        if layer != (self.many.layers - 1 if backward else 0):
            return 0
        alike = layer - self.period if backward else layer + self.period
        return len(self.births.order[section]) - len(self.births.order.get((phase, alike, turn), []))

    def _born(self, event: int, copy: int) -> int:
        self.sizes.append(self.many.sizes[event - 1])
        self.tags.append(self.many.tags[event - 1])
        made = self.made[event, copy] = len(self.sizes)
        self.events.append(made)
        return made

    def _died(self, born: int, copy: int) -> None:
        made = self.made.pop((born, copy), None)
        if made is None:
            raise UnlikeLayersError
        self.events.append(-made)


def _tokens(answer: TraceAnswer, births: Births, section: _Section) -> Iterator[tuple[int, Token]]:
    """Yield what happens in a section by its place, but for ends of what began in layers, and the smallest blocks that are loaded."""
    for place, event in enumerate(section.events):
        (phase, layer, _), _ = births.place[abs(event)]
        size = rounded(answer.sizes[abs(event) - 1])
        if event > 0 and (size > BLOCK or phase != "load"):
            yield place, ("+", size, phase)
        elif event < 0 and layer < 0:
            yield place, ("-", size, phase)


def _added(before: Sequence[Token], after: Sequence[Token]) -> list[int]:
    """Return what of a section a period adds: 0 if it does not, `GOES_ON` where it does, and `ENDS` where that ends."""
    found = [0] * len(after)
    for kind, first, end, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "insert":
            found[start:stop] = [GOES_ON] * (stop - start - 1) + [ENDS]
        elif kind != "equal" and sum(size for _, size, _ in (*before[first:end], *after[start:stop])) > SLIGHT:
            raise UnlikeLayersError
    return found
