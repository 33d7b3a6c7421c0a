"""The log of a run: what its supervisor did, in `logs/` of the run's folder.

Covered: holdfast's own messages. Not covered: what the training process writes, which its guard stores.
"""

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import get_ident
from typing import ClassVar

from holdfast.adapters.secrets import redacted
from holdfast.adapters.storage.private_files import make_private, open_private
from holdfast.core.errors import LedgerError
from holdfast.core.run.event import Event
from holdfast.core.run.event_json import event_to_json

LOG = logging.getLogger("holdfast")
LOG.addHandler(logging.NullHandler())


class TimestampedLines(logging.Formatter):
    """Puts the full time, with its zone, before each line."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's signature
        """Return when the record was made, as ISO 8601 to the millisecond."""
        return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without secrets."""
        return redacted(super().format(record))


class RunLog(logging.FileHandler):
    """Writes the log of a run. A line that cannot be written is lost, and the run goes on: the ledger has every event.

    A study supervises several runs, each in a thread of its own: what another run's thread says is not written here.
    """

    threads: ClassVar[set[int]] = set()
    """The threads that supervise a run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self.thread = get_ident()
        self.addFilter(lambda record: record.thread == self.thread or record.thread not in self.threads)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's signature
        """Lose a line for which the disk has no room, without a traceback on standard error."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)

    def close(self) -> None:
        """Close the file; what cannot be written any more is lost."""
        with suppress(OSError):
            super().close()


@contextmanager
def log_to_run(folder: Path, date: str) -> Iterator[None]:
    """Write the log into the run's folder within the block; a run that is resumed on the same day adds to the same file.

    Args:
        folder: The run's folder.
        date: `YYYYmmdd`.

    Raises:
        LedgerError: The file cannot be written.
    """
    path = folder / "logs" / f"{date}.log"
    try:
        make_private(path.parent)
        open_private(path, "ab").close()
        handler = RunLog(path)
    except OSError as error:
        what = f"the run's log cannot be written: {error.strerror}"
        raise LedgerError(what, where=str(path), fix="free some disk space, or check permissions") from error
    handler.setFormatter(TimestampedLines("%(asctime)s %(levelname)-7s %(message)s"))
    _add(handler)
    RunLog.threads.add(handler.thread)
    try:
        yield
    finally:
        RunLog.threads.discard(handler.thread)
        LOG.removeHandler(handler)
        handler.close()


def log_events(events: Iterable[Event]) -> None:
    """Log the events of a run, except the many steps and heartbeats, which only the ledger has."""
    for event in events:
        kind, fields = event_to_json(event)
        said = fields.get("said", {}).get("event")
        if said not in ("step", "heartbeat") and fields.get("answer") != "alive":
            LOG.info("%s %s", said or kind, json.dumps(fields, default=str))


def _add(handler: logging.Handler) -> None:
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
