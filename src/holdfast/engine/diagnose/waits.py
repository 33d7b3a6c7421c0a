"""What ranks waited for when their patience ended: who is absent, and whether all waited for the same, decides on the cause.

Each rank's line alone says only that it is a victim. These values of the whole log are given to the conditions of patterns.
"""

import re
from collections import Counter
from typing import Final, NamedTuple

from holdfast.core.diagnose.log import Log
from holdfast.engine.diagnose.collectives import spell_ranks

WAIT: Final = re.compile(
    r"(?:\[Rank (?P<rank>\d+)\] )?(?:Watchdog caught|Caught) collective operation timeout: "
    r"WorkNCCL\((?:SeqNum=(?P<number>\d+), )?OpType=(?P<kind>\w+)(?:, NumelIn=(?P<size>\d+))?"
)


GROUP: Final = re.compile(r"\[PG (?:ID \d+ PG GUID )?(\w+)")
"""The process group of a line; each counts its own collectives."""


WORLD: Final = re.compile(
    r"(?i)(?:\bworld[_ ]size|\bnum[_ ]processes|\bnproc[_-]per[_-]node)\b[\"']?\s*[:= ]\s*(\d{1,4})\b"
)
"""How many ranks there are: torchrun, accelerate and DeepSpeed say it, on one machine."""
SEVERAL_NODES: Final = re.compile(r"(?i)\b(?:nnodes|num[_ ]machines)\b[\"']?\s*[:= ]\s*(?:[2-9]|1\d|\d+:)")


UNKNOWN: Final = -1
"""The rank of a line that names none."""
MOST_ABSENT: Final = 7
"""Absent ranks that are named; where a node's whole log is missing, more are."""


class Wait(NamedTuple):
    """The collective that a rank waited in: its group, its number in order there, its kind, and its elements, if the log says so."""

    group: str
    number: int
    kind: str
    size: str | None


def waits_of(log: Log) -> dict[str, str]:
    """Return the ranks' waits; empty if no watchdog reported any.

    Args:
        log: What was read.

    Returns:
        As texts, which conditions compare as numbers: `waiting_ranks`, how many timed out; `waiting_kinds`, in how many
        different operations; `waiting_lag`, by how many collectives they differ; `waiting_sizes`, the most sizes of one
        collective; `rank_0_waits`, 1 if rank 0 is among them.
    """
    first = _first_waits(log)
    if not first:
        return {}
    numbers = [wait.number for wait in first.values()]
    sizes = Counter((wait.group, wait.number, wait.kind) for wait in set(first.values()) if wait.size)
    return {
        "waiting_ranks": str(len(first)),
        "waiting_kinds": str(len({wait.kind for wait in first.values()})),
        "waiting_lag": str(max(numbers) - min(numbers)),
        "waiting_sizes": str(max(sizes.values(), default=1)),
        "rank_0_waits": str(int(0 in first)),
    }


def absent_ranks(log: Log) -> dict[str, str]:
    """Return the ranks that waited and those that did not, in words.

    Returns:
        `waiters` and `absent` if the log shows that there are ranks that did not time out; `everyone`, how many there are, if it
        shows that all did; else `timed_out`, those that did, since more ranks than it names may exist. Empty if no rank is known.
    """
    waiters = _first_waits(log).keys()
    if not waiters or UNKNOWN in waiters:
        return {}
    named = {*waiters, *(hit.line.rank for hit in log.hits if hit.line.rank is not None)}
    size = _world_size(log)
    absent = sorted({*range(max(*named, size - 1, 0) + 1)} - waiters)
    spelled = spell_ranks(sorted(waiters))
    if not absent:
        return {"everyone": str(size)} if size else {"timed_out": spelled}
    return {"waiters": spelled, "absent": spell_ranks(absent)} if len(absent) <= MOST_ABSENT else {}


def _world_size(log: Log) -> int:
    """Return the number of ranks that the launcher or gloo reports; 0 if the log does not say."""
    texts = [line.text for line in (*log.head, *log.tail)] + [hit.line.text for hit in log.hits]
    if any(SEVERAL_NODES.search(text) for text in texts):
        return 0
    return max((int(found[1]) for text in texts if (found := WORLD.search(text))), default=0)


def _first_waits(log: Log) -> dict[int, Wait]:
    """Return the first wait of each rank that timed out."""
    first: dict[int, Wait] = {}
    for hit in log.hits:
        if found := WAIT.search(hit.line.text):
            rank = found["rank"] or hit.line.rank
            first.setdefault(
                int(rank) if rank is not None else UNKNOWN,
                Wait(_group_of(hit.line.text), int(found["number"] or 0), found["kind"], found["size"]),
            )
    return first


def _group_of(text: str) -> str:
    """Return the process group that a line names; empty if it names none."""
    found = GROUP.search(text)
    return found[1] if found else ""
