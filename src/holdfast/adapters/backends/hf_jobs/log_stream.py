"""The log of one job, received in a thread over as many connections as it takes.

Why not `HfApi.fetch_job_logs` of huggingface_hub 2.4: it resumes by the number of an event, so that a shorter or doubled replay
loses or repeats lines; it takes 5 seconds for each reading of a running job, and drops what is later than the Hub's clock; half
an event ends it, and so does a line with a separator of Unicode.
"""

import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Final

from holdfast.adapters.backends.hf_jobs.log_lines import LogReplay, MergedLog, parse_event, split_lines
from holdfast.adapters.backends.hf_jobs.refusals import explain
from holdfast.core.errors import UnreachableError
from holdfast.core.outcome import Raised, outcome_of
from holdfast.ports import LogPart

SILENT_S: Final = 5.0
"""How long the stream of a job that has ended may be silent; then nothing more comes, though it stays open.

huggingface_hub waits as long for what the Hub has kept.
"""
OPENING_S: Final = 60.0
"""How long the Hub may take to open a stream, and to go on with what it has sent before."""
Connect = Callable[[], AbstractContextManager[Iterable[bytes]]]
"""Opens a connection, which gives the stream in pieces of any size."""


@dataclass(slots=True)
class _Connection:
    """One connection.

    Attributes:
        known: How many lines were known when it began.
        opened: Whether the Hub has answered.
        received: Lines that it has brought.
        over: Whether it has ended.
        abandoned: Whether nobody waits for it any more.
        failure: Why it broke; empty if it ended in order.
    """

    known: int
    opened: bool = False
    received: int = 0
    over: bool = False
    abandoned: bool = False
    failure: str = ""

    def abandon(self) -> None:
        """Have its thread end at the next line."""
        self.abandoned = True


class LogStream:
    """The log of one job.

    Args:
        connect: Opens a connection.
        silent_s: See `SILENT_S`.
        opening_s: See `OPENING_S`.
    """

    def __init__(self, connect: Connect, silent_s: float, opening_s: float = OPENING_S) -> None:
        self._connect, self._silent_s, self._opening_s = connect, silent_s, opening_s
        self._log, self._changed = MergedLog(), Condition()
        self._connection: _Connection | None = None
        self._was_read = False

    @property
    def is_over(self) -> bool:
        """Whether the connection has ended, as it does with the job."""
        return self._connection is not None and self._connection.over

    def read(self, offset: int, *, ended: bool) -> LogPart:
        """Return the bytes from an offset on. With offset 0, everything is requested again.

        Args:
            offset: Where the part begins.
            ended: Whether the job has ended: then all that the connection brings is waited for.

        Raises:
            UnreachableError: The connection broke and brought nothing new.
        """
        with self._changed:
            again = offset == 0 and self._was_read
            connection = self._open(anew=again)
            if ended:
                self._wait(connection, lambda: False)
            elif again:
                self._wait(connection, lambda: connection.received >= connection.known)
            if connection.failure and self._log.size <= offset:
                raise UnreachableError(connection.failure, where="the log of the job", fix="it is tried again")
            part = LogPart(offset, self._log.read(offset))
            self._was_read |= bool(part.data)
            return part

    def _open(self, *, anew: bool) -> _Connection:
        """Return the connection; a new one if there is none, or if another is wanted."""
        if self._connection and (anew or self._connection.over):
            self._connection.abandon()
            self._connection = None
        if self._connection is None:
            self._connection = connection = _Connection(known=self._log.count)
            weakref.finalize(self, connection.abandon)
            arguments = (self._connect, connection, self._log, self._changed)
            Thread(target=_receive, args=arguments, daemon=True, name="holdfast-log").start()
        return self._connection

    def _wait(self, connection: _Connection, enough: Callable[[], bool]) -> None:
        """Wait until a connection has brought enough, has ended, or is silent; a silent one counts as ended.

        One that has not yet brought again what was known when it began is only slow.
        """
        while not (connection.over or enough()):
            before = connection.opened, connection.received
            is_there = connection.opened and connection.received >= connection.known
            self._changed.wait(self._silent_s if is_there else self._opening_s)
            if (connection.opened, connection.received) == before and not connection.over:
                connection.over, connection.failure = True, "" if connection.opened else "the log does not open"


def _receive(connect: Connect, connection: _Connection, log: MergedLog, changed: Condition) -> None:
    """Add the lines of one connection to the log. It knows nothing of the `LogStream`, which may be gone."""
    replay = LogReplay(log)

    def receive() -> None:
        with connect() as chunks:
            with changed:
                connection.opened = True
                changed.notify_all()
            for data in split_lines(chunks):
                line = parse_event(data)
                with changed:
                    if connection.abandoned:
                        return
                    if line:
                        replay.add(line)
                        connection.received += 1
                        changed.notify_all()

    outcome = outcome_of(receive)  # whatever the transport raises, the log is read again
    with changed:
        connection.over, connection.failure = True, _failure(outcome)
        changed.notify_all()


def _failure(outcome: Raised | None) -> str:
    """Return why a connection ended; empty if its stream did."""
    return "" if outcome is None else explain(outcome.error, "read the log").what
