"""What ranks waited for when their patience ended: who is absent, and whether all waited for the same, decides on the cause.

Each rank's line alone says only that it is a victim. These values of the whole log are given to the conditions of marks.
"""

import re
from typing import Final

from holdfast.core.log import Log

WAIT: Final = re.compile(
    r"(?:\[Rank (?P<rank>\d+)\] )?(?:Watchdog caught|Caught) collective operation timeout: "
    r"WorkNCCL\((?:SeqNum=(?P<number>\d+), )?OpType=(?P<kind>\w+)"
)


def waits_of(log: Log) -> dict[str, str]:
    """Return the ranks' waits; empty where no watchdog reported any.

    Args:
        log: What was read.

    Returns:
        As texts, which conditions compare as numbers: `waiting_ranks`, how many timed out; `waiting_kinds`, in how many
        different operations; `waiting_lag`, by how many collectives they differ; `rank_0_waits`, 1 if rank 0 is among them.
    """
    first: dict[int, tuple[int, str]] = {}
    for hit in log.hits:
        if found := WAIT.search(hit.line.text):
            told = found["rank"] or hit.line.rank
            first.setdefault(int(told) if told is not None else -1, (int(found["number"] or 0), found["kind"]))
    if not first:
        return {}
    numbers = [number for number, _ in first.values()]
    return {
        "waiting_ranks": str(len(first)),
        "waiting_kinds": str(len({kind for _, kind in first.values()})),
        "waiting_lag": str(max(numbers) - min(numbers)),
        "rank_0_waits": str(int(0 in first)),
    }
