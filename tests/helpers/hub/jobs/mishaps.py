"""What a test lets go wrong with jobs: `hub.jobs.mishap(...)` and `hub.jobs.trap_logs(...)` declare it, as `hub.fail(...)` does for requests.

Source: a lost node, eviction and exhausted credit are what issue threads on Jobs and hf-mount tell of; what status they leave is not documented, so each
has a `message` of its own to set. "Job timeout" and "Job failed with exit code: N. Reason: ..." are documented or quoted (records.py).
"""

import re
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

MishapKind = Literal["stuck", "unpullable", "machine_gone", "out_of_credit", "out_of_memory"]


@dataclass(slots=True, kw_only=True)
class Mishap:
    """One thing that goes wrong with jobs.

    Attributes:
        kind: `stuck` stays in SCHEDULING; `unpullable` fails to pull its image; `machine_gone` is killed without warning and its disk is wiped;
            `out_of_credit` is stopped because the balance is spent, and its namespace can start no more; `out_of_memory` is killed for its memory.
        pattern: Which jobs, looked for in `NAMESPACE key=value key=value COMMAND` (`Job.line`).
        left: How often it still holds; None for ever.
        after_s: On the Hub's clock, since the job started to run (for `stuck`: how long it is stuck; None for ever).
        at_line: When the job writes a line in which this is found.
        at_file: When a file of this pattern is in the job's volumes or working folder: in the middle of a save.
        markers: Of `stuck`: how often the log says `===== Job started` all the same.
        message: In the status afterwards, instead of the usual one.
    """

    kind: MishapKind
    pattern: re.Pattern[str]
    left: int | None = None
    after_s: float | None = None
    at_line: str | None = None
    at_file: str | None = None
    markers: int = 0
    message: str | None = None


@dataclass(slots=True)
class Mishaps:
    """All that goes wrong with jobs at the moment."""

    active: list[Mishap] = field(default_factory=list[Mishap])
    lock: Lock = field(default_factory=Lock)

    def take(self, line: str, *kinds: MishapKind) -> Mishap | None:
        """Return the first of these kinds that befalls a job, and count it."""
        with self.lock:
            for mishap in self.active:
                if mishap.kind in kinds and mishap.left != 0 and mishap.pattern.search(line):
                    mishap.left = mishap.left - 1 if mishap.left is not None else None
                    return mishap
        return None


@dataclass(slots=True, kw_only=True)
class LogTrap:
    """What is wrong with streams of log lines.

    Attributes:
        pattern: Of which jobs, looked for in `Job.line`.
        left: Of how many connections; None for all.
        close_after: The stream ends cleanly after so many lines that no stream delivered before.
        cut_after: So, but without an end: the connection is gone.
        hold: Lines come in groups of so many, the last ones when the job has ended.
        lingers: The stream stays open when the job has ended.
        lose_tail: The last lines that never come.
        lose_head: The first lines that are missing when a stream is opened again.
        swapped: Each two lines come in the wrong order.
        doubled: Each line comes twice.
        empty: Nothing comes but `===== Job started`, and the stream stays open.
        garbled: Number of a line of which half is sent, counted from the stream's first.
        split: Bytes of one piece: characters of several bytes, and lines, are torn apart.
        skew_s: Added to the lines' times.
        set_back: Numbers of lines at which the clock of the machine is behind by a second.
    """

    pattern: re.Pattern[str]
    left: int | None = None
    close_after: int | None = None
    cut_after: int | None = None
    hold: int = 1
    lingers: bool = False
    lose_tail: int = 0
    lose_head: int = 0
    swapped: bool = False
    doubled: bool = False
    empty: bool = False
    garbled: int | None = None
    split: int | None = None
    skew_s: float = 0.0
    set_back: tuple[int, ...] = ()
