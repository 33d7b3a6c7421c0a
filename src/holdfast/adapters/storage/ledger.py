"""The ledger: every event of every run, in one SQLite file that many supervisors write at once."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import finalize

from holdfast.core.errors import LedgerError
from holdfast.core.event import Event, event_from_json, event_to_json

SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run    TEXT NOT NULL,
    at_s   REAL NOT NULL,
    kind   TEXT NOT NULL,
    said   TEXT,           -- which event of the training process, of a report
    fields TEXT NOT NULL   -- JSON
);
CREATE INDEX events_of_run ON events (run, number);
"""
# Writers queue for one lock, each holding it for a disk flush; 200 of them need seconds, never minutes.
BUSY_TIMEOUT_S = 120.0


class Ledger:
    """Events in `ledger.sqlite` of the runs folder, appended in transactions (write-ahead log, flushed to disk).

    Args:
        folder: The runs folder; the ledger is made with the first event.

    Covered: many processes on one machine, readers beside writers, a full or read-only disk said clearly.
    Not covered: runs folders on network file systems without working locks, where SQLite is not safe.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger.sqlite"
        self._open: sqlite3.Connection | None = None

    def append(self, run: str, events: Iterable[Event]) -> None:
        """Write events durably, all or none."""
        rows = [self._row(run, event) for event in events]
        with self._writing() as database:
            database.executemany("INSERT INTO events (run, at_s, kind, said, fields) VALUES (?, ?, ?, ?, ?)", rows)

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:
        """Return a run's events in order, each with its number, from the first after number `after`."""
        query = "SELECT number, kind, fields FROM events WHERE run = ? AND number > ? ORDER BY number"
        return [(number, _event(kind, fields)) for number, kind, fields in self._select(query, (run, after))]

    def outline(self, run: str) -> list[Event]:
        """Return the events that a list of runs needs: of the many reported steps only the last of each attempt."""
        query = """
            SELECT kind, fields FROM events WHERE run = :run AND (
                said IS NULL OR said NOT IN ('step', 'heartbeat') OR number IN (
                    SELECT max(number) FROM events WHERE run = :run AND said = 'step'
                    GROUP BY json_extract(fields, '$.attempt')))
            ORDER BY number"""
        return [_event(kind, fields) for kind, fields in self._select(query, {"run": run})]

    def runs(self) -> list[str]:
        """Return the names of all runs, oldest first."""
        return [run for (run,) in self._select("SELECT run FROM events GROUP BY run ORDER BY min(number)", ())]

    def _row(self, run: str, event: Event) -> tuple[str, float, str, str | None, str]:
        kind, fields = event_to_json(event)
        said = fields["said"].get("event") if kind == "reported" else None
        return run, event.at_s, kind, said, json.dumps(fields, default=str)

    def _select(self, query: str, values: tuple[object, ...] | dict[str, object]) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        with self._translated():
            return self._connection().execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._translated():
            if not self._path.exists():
                self._make()
            database = self._connection()
            database.execute("BEGIN IMMEDIATE")
            with database:  # commits, or rolls back
                yield database

    def _connection(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            finalize(self, self._open.close)
            # A supervisor may act on an event as soon as it is written: it must survive a power cut.
            self._open.execute("PRAGMA synchronous = FULL")
        return self._open

    def _make(self) -> None:
        """Make the file whole under another name first: two processes that switch one file to WAL can collide."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self._path.parent, prefix=".ledger-") as scratch:
            made = Path(scratch) / "ledger.sqlite"
            database = sqlite3.connect(made)
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(SCHEMA)
            database.close()
            try:
                os.link(made, self._path)
            except FileExistsError:
                return  # another process was sooner

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise LedgerError(f"the ledger failed: {error}", where=str(self._path), fix=_fix(str(error))) from error
        except OSError as error:
            what = f"the runs folder cannot be written: {error.strerror}"
            raise LedgerError(what, where=str(self._path.parent), fix="choose another with --runs") from error


def _event(kind: object, fields: object) -> Event:
    return event_from_json(str(kind), json.loads(str(fields)))


def _fix(message: str) -> str:
    if "full" in message or "disk I/O" in message:
        return "free some disk space, or choose another folder with --runs"
    if "locked" in message:
        return "another process holds it; try again"
    if "malformed" in message or "not a database" in message:
        return "move the file aside; the run folders beside it are still whole"
    return "check the folder's permissions, or choose another with --runs"
