"""The ledger: every event of every run, in order.

Each event is a line of the journal in its run's folder, and these journals are the truth. `ledger.sqlite` beside the run folders is an
index of their lines: it is made anew where it is missing or damaged, and brought up to date where it is behind.
"""

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import finalize

from holdfast.adapters.secrets import environment_secrets
from holdfast.adapters.storage.index_errors import DamagedIndexError, fix_of, is_damage
from holdfast.adapters.storage.journal import JOURNAL, Journal
from holdfast.adapters.storage.locks import waiting_for
from holdfast.adapters.storage.private_files import open_private
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import LedgerError
from holdfast.core.run.event import Event
from holdfast.core.run.event_json import event_from_json, event_to_json
from holdfast.core.text.json_text import USABLE_NUMBERS, parse_json
from holdfast.core.text.redact import redact

SCHEMA: Final = """
CREATE TABLE runs (
    run    TEXT PRIMARY KEY,
    bytes  INTEGER NOT NULL  -- of its journal, as far as it is indexed
) WITHOUT ROWID;
CREATE TABLE events (
    run    TEXT NOT NULL,
    number INTEGER NOT NULL,  -- of the journal's line, from 1
    at_s   REAL NOT NULL,
    kind   TEXT NOT NULL,
    said   TEXT,              -- which event of the training process, of a report
    fields TEXT NOT NULL,     -- JSON
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""
UNREADABLE: Final = "unreadable"
"""Kind of a journal's line that is no event."""
PROSE: Final = ("because", "text", "fix")
"""Fields that hold what others wrote, such as the message of an exception."""
# Writers queue for one lock, each holding it for a disk flush; 200 of them need seconds, never minutes.
BUSY_TIMEOUT_S: Final = 120.0
BESIDE: Final = ("", "-wal", "-shm")
"""Endings of the files that SQLite keeps for one database."""
TOO_MANY: Final = 1 << 60
"""More bytes and events than a journal has."""
LOG: Final = logging.getLogger("holdfast")

T = TypeVar("T")


class Ledger:
    """The journals of a runs folder, and their index. Many processes may write at once.

    Args:
        folder: The runs folder; made with the first event.

    Covered: writers beside readers; a kill at any time; a full disk; a runs folder that cannot be written, which is read without an index;
    an index that is deleted, moved or damaged, also under a run that goes on.
    Not covered: runs folders on network file systems without working locks, where SQLite is not safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "ledger.sqlite"
        self._open: sqlite3.Connection | None = None
        self._inode = 0
        self._secrets = environment_secrets()

    def make_index(self) -> None:
        """Make the index unless it is there. Before the first run it is new; after it, it would be taken for one that was lost.

        Raises:
            LedgerError: It cannot be written.
        """
        with self._translated():
            self._connection()

    def append(self, run: str, events: Iterable[Event]) -> None:
        """Write events durably, all or none.

        Raises:
            LedgerError: They cannot be written.
        """
        lines = [_line(event, self._secrets) for event in events]
        with self._translated():
            self._retried(lambda: self._append(run, lines))

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:
        """Return a run's events in order, each with its number, from the first after number `after`.

        Raises:
            LedgerError: A line of the run's journal is no event.
        """
        query = "SELECT number, kind, fields FROM events WHERE run = :run AND number > :after ORDER BY number"
        return self._events(query, run, after=after)

    def outline(self, run: str) -> list[Event]:
        """Return the events that a list of runs needs: of each attempt's many steps only the last, and the last with figures.

        Raises:
            LedgerError: A line of the run's journal is no event.
        """
        query = """
            WITH steps AS (
                SELECT number, json_extract(fields, '$.attempt') AS attempt, json_extract(fields, '$.said.loss') AS loss
                FROM events WHERE run = :run AND said = 'step'),
            measured AS (  -- a loss of 0 stands for one that is not finite, where the gradients are not
                SELECT number, attempt FROM steps JOIN events USING (number) WHERE run = :run AND loss IS NOT NULL AND NOT (
                    loss = 0 AND coalesce(json_extract(fields, '$.said.nan'), '') LIKE '%"grad_norm"%'))
            SELECT number, kind, fields FROM events WHERE run = :run AND (
                said IS NULL OR said NOT IN ('step', 'heartbeat') OR number IN (
                    SELECT max(number) FROM steps GROUP BY attempt
                    UNION SELECT max(number) FROM measured GROUP BY attempt))
            ORDER BY number"""
        return [event for _, event in self._events(query, run)]

    def runs(self) -> list[str]:
        """Return the names of all runs, oldest first.

        The first event of each is found by its key: SQLite keeps the order of a cross join, and would otherwise read all events.
        """
        query = """
            SELECT runs.run FROM runs CROSS JOIN events ON events.run = runs.run AND number = 1
            ORDER BY at_s, runs.run"""
        return [run for (run,) in self._select(query, self._unindexed)]

    def trials(self) -> list[tuple[str, str]]:
        """Return the hash and the name of each run that is a trial of a study, oldest first."""
        query = """
            SELECT runs.run, json_extract(fields, '$.about.trial')
            FROM runs CROSS JOIN events ON events.run = runs.run AND number = 1 WHERE kind = 'requested'
            ORDER BY at_s, runs.run"""
        return [(trial, run) for run, trial in self._select(query, self._unindexed) if trial]

    def _events(self, query: str, run: str, **values: object) -> list[tuple[int, Event]]:
        def read() -> list[tuple[int, Event]]:
            rows = self._select(query, lambda: [run], run=run, **values)
            return [(number, self._event(run, number, kind, fields)) for number, kind, fields in rows]

        try:
            return read()
        except LedgerError:  # a row may be damaged where its line is not
            if not Journal(self._folder / run).size:
                raise
            with self._translated():
                self._retried(lambda: self._index_anew(run))
            return read()

    def _event(self, run: str, number: int, kind: str, fields: str) -> Event:
        try:
            return event_from_json(kind, parse_json(fields, USABLE_NUMBERS))
        except (LedgerError, ValueError, TypeError, KeyError, AttributeError) as error:
            what = f"event {number} of the run cannot be read"
            fix = "use the holdfast that wrote it; if the line is damaged, delete it"
            raise LedgerError(what, where=f"{self._folder / run / JOURNAL}:{number}", fix=fix) from error

    def _select(self, query: str, behind: Callable[[], Sequence[str]], **values: object) -> list[tuple[Any, ...]]:
        """Return rows of the index, after the journals of these runs are in it."""
        if not self._path.exists() and not any(self._journaled()):
            return []

        def select() -> list[tuple[Any, ...]]:
            self._catch_up(behind())
            return self._connection().execute(query, values).fetchall()

        with self._translated():
            return self._retried(select)

    def misnamed(self) -> list[Path]:
        """Return the folders with a journal whose names are no UTF-8. They are passed over: no index and no result can name them."""
        return sorted(path.parent for path in self._folder.glob(f"*/{JOURNAL}") if not _is_utf8(path.parent.name))

    def _journaled(self) -> list[str]:
        """Return the runs that have a journal."""
        names = (path.parent.name for path in self._folder.glob(f"*/{JOURNAL}"))
        return sorted(filter(_is_utf8, names))

    def _unindexed(self) -> list[str]:
        """Return the runs that the index does not have. Of the others it has the first event, however far it is behind."""
        known = {run for (run,) in self._connection().execute("SELECT run FROM runs")}
        names = {path.name for path in self._folder.iterdir() if _is_utf8(path.name)}
        return [run for run in sorted(names - known) if (self._folder / run / JOURNAL).is_file()]

    def _append(self, run: str, lines: list[str]) -> None:
        """Write lines into the journal and the index; those that the journal has are no longer in the list."""
        journal = Journal(self._folder / run)
        with self._writing() as database:
            _restore(database, run, journal)
            journal.append(lines)
            lines.clear()
            _index(database, run, journal)

    def _catch_up(self, runs: Sequence[str]) -> None:
        index = self._connection()
        behind = [run for run in runs if Journal(self._folder / run).size > _indexed(index, run)]
        if behind:
            with self._writing() as database:
                for run in behind:
                    _index(database, run, Journal(self._folder / run))

    def _index_anew(self, run: str) -> None:
        with self._writing() as database:
            database.execute("DELETE FROM events WHERE run = ?", (run,))
            database.execute("DELETE FROM runs WHERE run = ?", (run,))
            _index(database, run, Journal(self._folder / run))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        database = self._connection()
        database.execute("BEGIN IMMEDIATE")
        with database:  # commits, or rolls back
            yield database

    def _connection(self) -> sqlite3.Connection:
        """Return the index that is there now: another process may have put it in place of a damaged one."""
        if self._open is not None and self._inode and self._inode != _inode(self._path):
            self._open = None
        if self._open is None:
            self._open, self._inode = self._connected()
            finalize(self, self._open.close)
        return self._open

    def _connected(self) -> tuple[sqlite3.Connection, int]:
        nearest = next(each for each in (self._folder, *self._folder.absolute().parents) if each.exists())
        if not os.access(nearest, os.W_OK):
            return self._fill(sqlite3.connect(":memory:", isolation_level=None)), 0
        if not self._path.exists():
            self._make()
        if self._path.exists() and not self._path.is_file():
            raise LedgerError("ledger.sqlite is not a file", where=str(self._path), fix="move it away: it is made anew")
        inode = _inode(self._path)
        # One thread at a time uses it; the one that lets go of it last may be another.
        database = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        # What a power cut takes from the index, the journals give back.
        database.execute("PRAGMA synchronous = NORMAL")
        return database, inode

    def _make(self) -> None:
        """Make the index whole under another name first: two processes that switch one file to WAL can collide."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with waiting_for(self._folder / ".ledger.lock"):
            if self._path.exists():
                return  # another process was sooner
            if runs := self._journaled():
                LOG.warning("ledger.sqlite was not there: it was made anew from the folders of %s runs", len(runs))
            with scratch_folder(".ledger-", self._folder) as scratch:
                made = Path(scratch) / "ledger.sqlite"
                open_private(made, "wb").close()
                database = sqlite3.connect(made, isolation_level=None)
                database.execute("PRAGMA journal_mode = WAL")
                self._fill(database).close()
                for ending in BESIDE[1:]:  # of an index that was deleted alone: SQLite would take it for this one's
                    self._path.with_name(f"{self._path.name}{ending}").unlink(missing_ok=True)
                made.replace(self._path)

    def _fill(self, database: sqlite3.Connection) -> sqlite3.Connection:
        database.executescript(SCHEMA)
        database.execute("BEGIN")
        with database:
            for run in self._journaled():
                _index(database, run, Journal(self._folder / run))
        return database

    def _set_aside(self) -> None:
        """Move a damaged index away, so that the next connection makes another."""
        with waiting_for(self._folder / ".ledger.lock"):
            if self._inode in (0, _inode(self._path)):
                for ending in BESIDE:
                    beside = self._path.with_name(f"{self._path.name}{ending}")
                    if beside.exists():
                        beside.replace(self._path.with_name(f"{self._path.name}.damaged{ending}"))
        self._open = None

    def _retried(self, work: Callable[[], T]) -> T:
        """Do work on the index; once more with a new index where this one is damaged."""
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        except UnicodeDecodeError:  # SQLite's own message has the damaged bytes
            pass
        LOG.warning(
            "ledger.sqlite is damaged: it is moved to ledger.sqlite.damaged, and made anew from the run folders"
        )
        self._inode = _inode(self._path) if self._open is None else self._inode
        self._set_aside()
        return work()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise LedgerError(f"the ledger failed: {error}", where=str(self._path), fix=fix_of(error)) from error
        except OSError as error:
            what = f"the runs folder cannot be read or written: {error.strerror}"
            fix = "free some disk space, or choose another folder with --runs"
            raise LedgerError(what, where=str(self._folder), fix=fix) from error


def start_journal(folder: Path, event: Event) -> None:
    """Write the first event of a run into its folder, which the ledger does not have yet.

    Raises:
        OSError: It cannot be written.
    """
    Journal(folder).append([_line(event, environment_secrets())])


def _line(event: Event, secrets: Sequence[str]) -> str:
    """Return an event as a journal keeps it: without secrets, and with its names and paths as they are."""
    kind, fields = event_to_json(event)
    for part in (fields, fields.get("said", {})):
        part |= {name: redact(part[name], secrets) for name in PROSE if isinstance(part.get(name), str)}
    return redact(_spell(kind, fields))


def _spell(kind: str, fields: Any) -> str:
    return json.dumps({"kind": kind, "fields": fields}, default=str)


def _index(database: sqlite3.Connection, run: str, journal: Journal) -> None:
    """Add the lines of a journal that are new."""
    found = list(journal.read(_indexed(database, run)))
    if found:
        known = _whole(database, "SELECT max(number) FROM events WHERE run = ?", run)
        rows = [(run, number, *_row(line)) for number, (_, line) in enumerate(found, start=known + 1)]
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (run, found[-1][0]))


def _indexed(database: sqlite3.Connection, run: str) -> int:
    return _whole(database, "SELECT max(bytes) FROM runs WHERE run = ?", run)


def _whole(database: sqlite3.Connection, query: str, run: str) -> int:
    """Return the number that a query gives of a run; 0 if there is none."""
    (found,) = database.execute(query, (run,)).fetchone()
    if found is not None and not (isinstance(found, int) and 0 <= found < TOO_MANY):
        raise DamagedIndexError(f"no number of bytes or events: {found!r}")
    return found or 0


def _row(line: str) -> tuple[object, ...]:
    try:
        read = parse_json(line, USABLE_NUMBERS)
        kind, fields = read["kind"], read["fields"]
        said = fields["said"]["event"] if kind == "reported" else None
        return float(fields["at_s"]), _text(kind) or UNREADABLE, _text(said), json.dumps(fields)
    except (ValueError, TypeError, KeyError):
        return 0.0, UNREADABLE, None, json.dumps(line)


def _text(value: object) -> str | None:
    """Return a text that SQLite can store; None if it is none."""
    return value if isinstance(value, str) and _is_utf8(value) else None


def _restore(database: sqlite3.Connection, run: str, journal: Journal) -> None:
    """Write a journal again that has lost lines which the index has."""
    if journal.size >= _indexed(database, run):
        return
    rows = database.execute("SELECT kind, fields FROM events WHERE run = ? ORDER BY number", (run,)).fetchall()
    kept = len(list(journal.read()))
    journal.append([_spell(kind, parse_json(fields)) for kind, fields in rows[kept:]])
    database.execute("UPDATE runs SET bytes = ? WHERE run = ?", (journal.size, run))


def _is_utf8(name: str) -> bool:
    """True of text without halves of characters, as the name of a file may have them, or a line of JSON.

    >>> _is_utf8("é"), _is_utf8(os.fsdecode(bytes([255])))
    (True, False)
    """
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1
