"""Which of several processes failed first: the others only lost their connection to it, or were stopped by the launcher.

A process that is killed says nothing, and the others all say something; so the last words of a job are mostly those of a victim.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from signal import Signals
from typing import Final

from holdfast.core.run.event import EndReason
from holdfast.engine.diagnose.collectives import spell_ranks

LOST: Final = re.compile(
    r"gloo/transport/|Connection (?:closed|reset) by|remote process exited|ncclRemoteError|NCCL error|DistBackendError|DistNetworkError|DistStoreError"
    r"|Broken pipe|collective operation timeout|Timed out waiting \d+ms|Application timeout caused pair closure"
)
"""What a process says that lost its connection to another one, or waited for it in vain."""
FAILED: Final = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<rank>\d+)")
"""torchrun's line about the process whose end it noticed first. Source: `torch/distributed/elastic/multiprocessing/api.py`, tried with torch 2.13."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEnd:
    """How one process ended, as it wrote itself.

    Attributes:
        at: Unix time.
        status: `finished`, `stopped` or `failed`.
        reason: Kind of reason, an `EndReason`.
        because: The reason, in words.
    """

    at: float = 0.0
    status: str = ""
    reason: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """The process that a failure began in.

    Attributes:
        rank: Its rank.
        text: How it ended, in words, and that the others followed.
        code: Its exit code, if it ended without a word and the launcher gave it; negative for a signal.
    """

    rank: int
    text: str
    code: int | None = None

    @property
    def signal(self) -> Signals | None:
        """The signal that ended it without a word; None if none did."""
        return Signals(-self.code) if self.code is not None and -self.code in set(Signals) else None


def has_lost_launcher(ends: Mapping[int, RankEnd]) -> bool:
    """True if the launcher of the processes died, and they ended for that."""
    return any(each.reason == EndReason.LAUNCHER_DIED for each in ends.values())


def first_failure(ranks: Collection[int], ends: Mapping[int, RankEnd], launcher: str) -> FirstFailure | None:
    """Return the process that failed first; None of one process alone, or if that is not known.

    Args:
        ranks: All that began.
        ends: How each of them ended, where it could write that.
        launcher: What the launcher printed.

    >>> lost = RankEnd(at=9.0, status="failed", reason="exception", because="RuntimeError: Connection closed by peer [127.0.0.1]:1")
    >>> first_failure([0, 1], {0: lost}, "failed (exitcode: -9) local_rank: 1 (pid: 7) of binary: python").text
    'rank 1 was killed by SIGKILL; rank 0 ended after it'
    """
    if len(ranks) < 2 or has_lost_launcher(ends):  # noqa: PLR2004 - one process alone is the first
        return None
    return _silent_death(ranks, ends, launcher) or _first_exception(ranks, ends)


def _silent_death(ranks: Collection[int], ends: Mapping[int, RankEnd], launcher: str) -> FirstFailure | None:
    """Return the process that the launcher noticed first, of those that could not write how they ended."""
    codes = {int(found["rank"]): int(found["code"]) for found in FAILED.finditer(launcher)}
    rank = next((rank for rank in codes if rank not in ends and rank in ranks), None)
    if rank is None:
        return None
    code = codes[rank]
    how = f"was killed by {Signals(-code).name}" if -code in set(Signals) else f"ended with exit code {code}"
    return FirstFailure(rank, f"rank {rank} {how}{_others(ranks, rank)}", code)


def _first_exception(ranks: Collection[int], ends: Mapping[int, RankEnd]) -> FirstFailure | None:
    """Return the first process that wrote of more than that it lost its connection to another one."""
    failed = {rank: end for rank, end in ends.items() if end.status == "failed" and not LOST.search(end.because)}
    if not failed:
        return None
    rank = min(failed, key=lambda each: failed[each].at)
    return FirstFailure(rank, f"rank {rank} failed first: {_shortly(failed[rank].because)}{_others(ranks, rank)}")


def _others(ranks: Collection[int], rank: int) -> str:
    return f"; {spell_ranks(sorted({*ranks} - {rank}))} ended after it"


def _shortly(text: str) -> str:
    """Return the first sentence of an exception's message.

    >>> _shortly("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    'OutOfMemoryError: CUDA out of memory'
    """
    return re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0].removesuffix(".")
