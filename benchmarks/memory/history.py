"""The recorded allocations of a run, small enough to keep: what was taken and given back, in order, by phase.

A file is gzipped text. Its first line is the point as JSON; then one line an event:

    @ later_forward     a phase begins
    + 2097152           bytes are allocated: the next number, counted from 0
    - 17                allocation number 17 is given back

Sizes are as torch records them; the allocator rounds up to 512 bytes. Recording begins before the first allocation.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.memory.points import Point

Event = tuple[str, int | str]
Mark = tuple[str, int]
BLOCK: Final = 512  # bytes; c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize


def reduced(entries: Iterable[Mapping[str, Any]], marks: Sequence[Mark]) -> Iterator[Event]:
    """Yield the events of a trace as torch recorded it.

    Args:
        entries: `torch.cuda.memory._snapshot()["device_traces"][0]`.
        marks: Phases, each with the number of allocations and frees before it.
    """
    numbers: dict[int, int] = {}  # address: allocation
    waiting = list(reversed(marks))
    told = (entry for entry in entries if entry["action"] in ("alloc", "free_completed"))
    allocations = 0
    for place, entry in enumerate(told):
        yield from _begun(waiting, place)
        if entry["action"] == "alloc":
            numbers[entry["addr"]] = allocations
            yield "+", entry["size"]
            allocations += 1
        elif entry["addr"] in numbers:
            yield "-", numbers.pop(entry["addr"])
    yield from (("@", phase) for phase, _ in reversed(waiting))


def peak_bytes(events: Iterable[Event]) -> int:
    """Return the most that was allocated at once, each size rounded up as the allocator does.

    >>> peak_bytes([("+", 500), ("+", 1024), ("-", 0), ("+", 512)])
    1536
    """
    sizes: list[int] = []
    held = peak = 0
    for kind, value in events:
        if kind == "+":
            sizes.append(-(-int(value) // BLOCK) * BLOCK)
            held += sizes[-1]
            peak = max(peak, held)
        elif kind == "-":
            held -= sizes[int(value)]
    return peak


def save_history(point: Point, events: Iterable[Event], path: Path) -> None:
    """Write a history; the same one always to the same bytes."""
    lines = (f"{kind} {value}" for kind, value in events)
    text = "\n".join((json.dumps(asdict(point)), *lines, ""))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def load_history(path: Path) -> tuple[Point, list[Event]]:
    """Return the point and its events."""
    first, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    words = (line.partition(" ") for line in lines)
    return Point(**json.loads(first)), [(kind, value if kind == "@" else int(value)) for kind, _, value in words]


def _begun(waiting: list[Mark], place: int) -> Iterator[Event]:
    """Yield the phases that have begun by now, and take them from the list."""
    while waiting and waiting[-1][1] <= place:
        yield "@", waiting.pop()[0]
