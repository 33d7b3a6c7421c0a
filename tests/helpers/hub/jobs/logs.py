"""The stream of log lines, and all that can be wrong with it.

Source: `_stream_sse_events` and `fetch_job_logs` of `huggingface_hub/hf_api.py` 2.4.0 and their comments: a stream begins with all lines so far (or the
last `tail`), each as `data: {"data": ..., "timestamp": ...}`; it can end before the job does, and the job's stage lags behind its last line; it can be
infinite and empty but for `===== Job started`; there is a `: keep-alive` every 30 seconds. Without `follow` the client drops lines that are later than
the answer's `Date` and a second. The order of the keys, and that `===== Job started` precedes also the last `tail` lines: huggingface/huggingface_hub
pull request 4202. That this line can come again and again while the job never starts: issue 4376. Replays that are shorter than what was told before are reported in makermods-robotics/makermodslab pull request 71.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.helpers.hub.exchange import CutError
from tests.helpers.hub.jobs.mishaps import LogTrap
from tests.helpers.hub.jobs.records import Job
from tests.helpers.hub.repositories import iso
from tests.helpers.hub.world import Visit, World


def started(at_s: float) -> str:
    """Return the line that the Hub itself writes first."""
    return f"===== Job started at {datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} ====="


def stream(visit: Visit, job: Job) -> Iterator[bytes]:
    """Give the events of a job's stream, as they travel."""
    trap = _trap(visit.world, job)
    asked = visit.request.get("tail")
    at = max(1, len(job.lines) - int(asked)) if asked else 0
    if asked and job.lines:
        yield _event(visit.world, job, 0, trap)
    for piece in _pieces(visit.world, job, trap, trap.lose_head if job.heard and not asked else at):
        size = trap.split or len(piece)
        yield from (piece[k : k + size] for k in range(0, len(piece), size))


def _trap(world: World, job: Job) -> LogTrap:
    for trap in world.jobs.traps:
        if trap.left != 0 and trap.pattern.search(job.line):
            trap.left = trap.left - 1 if trap.left is not None else None
            return trap
    return LogTrap(pattern=re.compile(""))


def _pieces(world: World, job: Job, trap: LogTrap, at: int) -> Iterator[bytes]:
    first, count = at, 0
    while not world.closing.is_set():
        ready, ended = _ready(job, trap), job.quiet
        for k in _order(range(at, ready), trap):
            yield from _told(world, job, trap, k, torn=trap.garbled == k - first)
            if k >= job.heard:
                count, job.heard = count + 1, k + 1
            if trap.cut_after is not None and count >= trap.cut_after:
                raise CutError
            if trap.close_after is not None and count >= trap.close_after:
                return
        at = max(at, ready)
        if ended and at >= _ready(job, trap) and not (trap.lingers or trap.empty):
            return
        if not _more(world, job, trap, at, ended=ended):
            yield b": keep-alive\n\n"


def _told(world: World, job: Job, trap: LogTrap, k: int, *, torn: bool) -> Iterator[bytes]:
    event = _event(world, job, k, trap)
    yield event[: len(event) // 2] + b"\n\n" if torn else event
    if trap.doubled:
        yield event


def _more(world: World, job: Job, trap: LogTrap, at: int, *, ended: bool) -> bool:
    """Wait for something to tell; return False if it is time for a sign of life."""

    def changed() -> bool:
        return _ready(job, trap) > at or job.quiet != ended or world.closing.is_set()

    return world.clock.wait(job.id, changed, world.clock.now_s + world.jobs.keep_alive_s)


def _ready(job: Job, trap: LogTrap) -> int:
    """Return how many lines may be told."""
    if trap.empty:
        return min(1, len(job.lines))
    count = max(0, len(job.lines) - trap.lose_tail)
    return count if job.quiet else count // trap.hold * trap.hold


def _order(numbers: range, trap: LogTrap) -> list[int]:
    ordered = list(numbers)
    if trap.swapped:
        ordered[: len(ordered) // 2 * 2] = [
            k for a, b in zip(ordered[::2], ordered[1::2], strict=False) for k in (b, a)
        ]
    return ordered


def _event(world: World, job: Job, k: int, trap: LogTrap) -> bytes:
    at_s, text = job.lines[k]
    told = iso(at_s + world.clock.skew_s + world.jobs.machine_skew_s + trap.skew_s - (k in trap.set_back))
    return f"data: {json.dumps({'data': text, 'timestamp': told}, ensure_ascii=False)}\n\n".encode()
