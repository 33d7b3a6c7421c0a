"""What ranks waited for when their patience ended: who is absent, and whether all waited for the same, decides on the cause.

Each rank's line alone says only that it is a victim. These values of the whole log are given to the conditions of marks.
"""

import re
from collections import Counter
from typing import Final, NamedTuple

from holdfast.core.log import Log

WAIT: Final = re.compile(
    r"(?:\[Rank (?P<rank>\d+)\] )?(?:Watchdog caught|Caught) collective operation timeout: "
    r"WorkNCCL\((?:SeqNum=(?P<number>\d+), )?OpType=(?P<kind>\w+)(?:, NumelIn=(?P<size>\d+))?"
)


GROUP: Final = re.compile(r"\[PG (?:ID \d+ PG GUID )?(\w+)")
"""The process group of a line; each counts its own collectives."""


class Wait(NamedTuple):
    """The collective that a rank waited in: its group, its number in order there, its kind, and its elements, where they are told."""

    group: str
    number: int
    kind: str
    size: str | None


def waits_of(log: Log) -> dict[str, str]:
    """Return the ranks' waits; empty where no watchdog reported any.

    Args:
        log: What was read.

    Returns:
        As texts, which conditions compare as numbers: `waiting_ranks`, how many timed out; `waiting_kinds`, in how many
        different operations; `waiting_lag`, by how many collectives they differ; `waiting_sizes`, the most sizes of one
        collective; `rank_0_waits`, 1 if rank 0 is among them.
    """
    first: dict[int, Wait] = {}
    for hit in log.hits:
        if found := WAIT.search(hit.line.text):
            told = found["rank"] or hit.line.rank
            first.setdefault(
                int(told) if told is not None else -1,
                Wait(_group_of(hit.line.text), int(found["number"] or 0), found["kind"], found["size"]),
            )
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


def _group_of(text: str) -> str:
    """Return the process group that a line names; empty where it names none."""
    found = GROUP.search(text)
    return found[1] if found else ""
