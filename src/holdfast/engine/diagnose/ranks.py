"""Which of several processes holds up the others, by their stacks: the one that has not come to the call that the others wait in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from holdfast.engine.diagnose.collectives import Collective, Disagreement, find_disagreement, odd_rank, spell_ranks
from holdfast.engine.diagnose.hangs import main_stack

COLLECTIVE: Final = re.compile(
    r"torch/distributed/(?:distributed_c10d|utils|algorithms/join)\.py |torch/autograd/graph\.py _engine_run_backward$"
    r"|torch/nn/parallel/distributed\.py |attempt\.py agreed$"
)
"""Calls in which a process waits for others, as `file function`. In the backward pass, DDP waits for the gradients of all."""
INNERMOST: Final = 4
"""Frames from the innermost one on, among which such a call has to be: one of torch's own may be called by it."""
NO_STACK: Final = re.compile(r"holdfast: no stack: (?P<because>.+)")
"""What stands in place of a stack that could not be taken. Source: `adapters/environment/outside_stacks.py`."""
LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen ", "attempt.py")


@dataclass(frozen=True, slots=True)
class Standstill:
    """Where the processes of an attempt stand still.

    Attributes:
        rank: The one that holds up the others; None if neither stacks nor collectives tell.
        text: Where it stands, in words, and where the others do.
    """

    rank: int | None
    text: str


def find_standstill(
    stacks: Mapping[int, str], collectives: Mapping[int, Sequence[Collective]] | None
) -> Standstill | None:
    r"""Return where processes stand still, by the last stack of each rank; None if no stack was taken.

    Args:
        stacks: The stacks that each rank wrote.
        collectives: The newest collectives of each rank, where its flight recorder answered.

    >>> waits = 'Current thread 0x1 (most recent call first):\n  File "/v/torch/distributed/distributed_c10d.py", line 7 in all_reduce\n'
    >>> waits += '  File "/home/me/train.py", line 9 in <module>\n'
    >>> sleeps = 'Current thread 0x1 (most recent call first):\n  File "/home/me/rewards.py", line 3 in score\n'
    >>> sleeps += '  File "/home/me/train.py", line 9 in <module>\n'
    >>> find_standstill({0: waits, 1: sleeps}, None).text
    'rank 1 is in `score` (rewards.py:3), and rank 0 waits for it in `all_reduce`'
    """
    frames = {rank: found for rank, text in stacks.items() if (found := [frame for _, frame in main_stack(text)])}
    without = "; ".join(_reasons_without(stacks))
    if not frames:
        return Standstill(None, without) if without else None
    if len(stacks) == 1:
        return Standstill(None, f"it is in {_place(next(iter(frames.values())))}")
    compared = _compare_stacks(frames, find_disagreement(collectives or {}))
    return replace(compared, text=f"{compared.text}; {without}") if without else compared


def _reasons_without(stacks: Mapping[int, str]) -> Iterator[str]:
    """Yield why there is no stack of a rank, which wrote none itself, by what stands in place of its last one."""
    for rank, text in sorted(stacks.items()):
        last = next(reversed(text.splitlines()), "")
        if found := NO_STACK.match(last):
            named = f" of rank {rank}" if len(stacks) > 1 else ""
            yield f"no stack{named}: {found['because']}"


def _compare_stacks(frames: Mapping[int, Sequence[re.Match[str]]], differ: Disagreement | None) -> Standstill:
    """Return which of several ranks holds up the others, and where it stands; where each of them does, if that is not known."""
    compared = f"; {differ.text}" if differ else ""
    rank = _outlier(frames)
    if rank is None:
        places = "; ".join(f"rank {each} is in {_place(found)}" for each, found in sorted(frames.items()))
        return Standstill(differ.rank if differ else None, f"{places}{compared}")
    others = [each for each in sorted(frames) if each != rank]
    waits = f"{spell_ranks(others)} wait{'s' * (len(others) == 1)} for it in `{_function(frames[others[0]])}`"
    return Standstill(rank, f"rank {rank} is in {_place(frames[rank])}, and {waits}{compared}")


def _outlier(frames: Mapping[int, Sequence[re.Match[str]]]) -> int | None:
    """Return the only rank that is in no collective; where all are in one, the only one that came there another way."""
    outside = [rank for rank, found in frames.items() if not _waits(found)]
    if len(frames) == 1:
        return None
    if outside:
        return outside[0] if len(outside) == 1 else None
    return odd_rank({rank: tuple(frame.string for frame in found) for rank, found in frames.items()})


def _waits(frames: Sequence[re.Match[str]]) -> bool:
    return any(COLLECTIVE.search(f"{frame['file']} {frame['function']}") for frame in frames[:INNERMOST])


def _function(frames: Sequence[re.Match[str]]) -> str:
    found = (frame for frame in frames[:INNERMOST] if COLLECTIVE.search(f"{frame['file']} {frame['function']}"))
    return str(next(found, frames[0])["function"])


def _place(frames: Sequence[re.Match[str]]) -> str:
    """Return the innermost frame, and the innermost of the user's own code behind it."""
    own = next((frame for frame in frames if not any(part in frame["file"] for part in LIBRARIES)), None)
    inner = _frame(frames[0])
    return inner if own is None or own is frames[0] else f"{inner}, called from {_frame(own)}"


def _frame(frame: re.Match[str]) -> str:
    name = "" if frame["function"] == "<module>" else f"`{frame['function']}` "
    place = f"{PurePath(frame['file']).name}:{frame['line']}"
    return f"{name}({place})" if name else place
