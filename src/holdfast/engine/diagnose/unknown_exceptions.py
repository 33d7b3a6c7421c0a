"""Exceptions that no signature knows. One that ended the job is a fault in the user's own code, if it came up there."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.log import Log, Traceback
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.log_context import TEARDOWN, LogContext, is_from_earlier_attempt, survived
from holdfast.engine.diagnose.owners import calling_frames, is_users
from holdfast.engine.diagnose.tracebacks import START
from holdfast.engine.diagnose.weights import EARLIER, IN_USER_CODE, UNDER_USER_CODE

USER_CODE: Final = "user-code-error"
PYTHONS: Final = re.compile(
    r"lib[/\\]python3[\d.]*[/\\](?:shutil|os|posixpath|genericpath|pathlib|glob|tempfile|copy|pickle|json[/\\]\w+|csv|re|random|argparse|configparser"
    r"|datetime|_strptime|collections[/\\]\w+|functools|contextlib|dataclasses|enum|typing|statistics|fractions|string|zipfile|tarfile|gzip)\.py$|^<frozen (?:os|posixpath|codecs|genericpath)>"
)
"""Modules of Python's own that fail for what they were called with."""


def unknown_exception(candidates: Sequence[Candidate], signature: Signature, context: LogContext) -> list[Candidate]:
    """Return the class of faults in the user's own code, if an exception that no signature knows ended the job."""
    others = (each.root_places for each in candidates if each.signature.name != USER_CODE)
    claimed = frozenset[tuple[str, int]]().union(*others)
    found = [_candidate(last, signature, context) for last in _unclaimed(context, claimed)]
    best = max(found, key=lambda each: each.score, default=None)
    known = max((each.score for each in candidates if each.signature.name == USER_CODE), default=0.0)
    return [best] if best and best.score > known else []


def _unclaimed(context: LogContext, claimed: frozenset[tuple[str, int]]) -> Iterator[Traceback]:
    """Yield the exceptions that ended something, and of which no line states a known cause."""
    for last in _exceptions(context.log):
        places = (line.place for part in last.chain for line in part.error)
        if _ended_something(last, context) and claimed.isdisjoint(places):
            yield last


def _ended_something(exception: Traceback, context: LogContext) -> bool:
    """True if an exception says more than that something else failed, and training did not go on to its end after it."""
    if not exception.error or TEARDOWN.search(exception.error[0].text):
        return False
    return not survived(exception.start, context.ended)


def _candidate(last: Traceback, signature: Signature, context: LogContext) -> Candidate:
    """Return the candidate that an exception amounts to, by the direct cause of it."""
    first = next((part for part, link in last.earlier if link == "cause"), last)
    score = IN_USER_CODE if _is_in_users(first) else UNDER_USER_CODE
    if last.count == 1 and is_from_earlier_attempt(last.start, context):
        score *= EARLIER
    return Candidate(signature=signature, score=score, exception=first)


def _is_in_users(exception: Traceback) -> bool:
    """True if an exception came up in the user's code, or in a module of Python's own that it called."""
    frames = calling_frames(exception.frames)
    inner = next((frame for frame in reversed(frames) if not PYTHONS.search(frame.file)), None)
    return inner is not None and is_users(inner)


def _exceptions(log: Log) -> Iterator[Traceback]:
    """Yield every exception: those of whole tracebacks, then those of which only the last frames stand in the log."""
    yield from log.tracebacks
    for hit in log.hits:
        if hit.traceback and START not in hit.traceback.start.text:
            yield hit.traceback
