"""What a log shows as a whole: whether training ended well, which attempt was the last, and which ranks raised something."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.core.diagnose.log import Hit, Line, Log
from holdfast.engine.diagnose.tracebacks import ERROR
from holdfast.engine.diagnose.weights import HANDLED, WRAPS

TEARDOWN: Final = re.compile(
    r"ChildFailedError|CalledProcessError|SystemExit|KeyboardInterrupt|BrokenPipeError|RayTaskError|ActorDiedError|EOFError"
    r"|ExceptionGroup|ConnectionResetError|DistBackendError|DistNetworkError|RendezvousConnectionError|SignalException|EngineDeadError"
    r"|Connection (?:closed|reset) by peer|ProcessExitedException|ProcessRaisedException|LocalEntryNotFoundError|ConnectionError"
)
"""Exceptions that say that something else failed, never the user's code alone."""
WAITED: Final = re.compile(
    r"collective operation timeout|(?:detected by watchdog|Timeout) at (?:NCCL )?work|Timed out waiting \d+ ?ms for (?:recv|send) operation"
)
"""What a rank says that waited for another one."""


@dataclass(frozen=True, slots=True)
class LogContext:
    """What a log tells as a whole.

    Attributes:
        log: The log.
        parts: What each exception of a chain counts for, by where its traceback begins.
        ended: The line with which training ended well; None if it did not.
        restarted: The line with which the last attempt began, if the log reports on it; None if there was only one.
        raised: The ranks of which the log has an exception of their own, that does not say that something else failed.
    """

    log: Log
    parts: Mapping[tuple[str, int], float]
    ended: Line | None
    restarted: Line | None = None
    raised: frozenset[int] = frozenset()


def read_log_context(log: Log) -> LogContext:
    """Return the facts of a log as a whole."""
    ends = [step.line for step in log.metrics if "train_runtime" in step.values]
    return LogContext(log, _parts(log), ends[-1] if ends else None, raised=_raised(log))


def _raised(log: Log) -> frozenset[int]:
    """Return the ranks that raised something of their own, after which no step was taken; a log without ranks is that of rank 0."""
    stepped = {step.line.path: step.line.number for step in log.metrics}
    own = (
        last.start
        for last in log.tracebacks
        if last.error
        and not _is_from_other_process(last.error[0].text)
        and last.start.number > stepped.get(last.start.path, 0)
    )
    return frozenset(line.rank or 0 for line in own if line.rank is not None or not log.ranks)


def _is_from_other_process(error: str) -> bool:
    return bool(TEARDOWN.search(error) or WAITED.search(error))


def is_from_earlier_attempt(line: Line, context: LogContext) -> bool:
    """True if a line stands before the last attempt of the same log."""
    last = context.restarted
    return last is not None and line.path == last.path and line.number < last.number


def has_no_exceptions(log: Log) -> bool:
    """True if nothing in a log was raised."""
    return not log.tracebacks and not any(is_exception(hit) for hit in log.hits)


def is_exception(hit: Hit) -> bool:
    """True if a line belongs to an exception: it is part of a traceback, or reads as the last line of one."""
    return hit.traceback is not None or ERROR.match(hit.line.text) is not None


def survived(line: Line, ended: Line | None) -> bool:
    """True if training went on to its end after a line: it is rank 0 that writes of the end, and speaks for no other."""
    if ended is None:
        return False
    return line.path == ended.path and line.number < ended.number and line.rank in (None, 0, ended.rank)


def _parts(log: Log) -> dict[tuple[str, int], float]:
    """Return the weight of each exception of a chain, by where it begins."""
    factors: dict[tuple[str, int], float] = {}
    for last in log.tracebacks:
        links = [link for _, link in last.earlier]
        for at, part in enumerate(last.chain):
            wraps = at > 0 and links[at - 1] == "cause"
            handled = at < len(links) and links[at] == "context"
            factors[part.start.place] = (WRAPS if wraps else 1.0) * (HANDLED if handled else 1.0)
    return factors
