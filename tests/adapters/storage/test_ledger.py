"""The ledger loses nothing, whoever writes at once and whoever is killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from holdfast.adapters.storage.index_errors import fix_of
from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import BUSY_TIMEOUT_S, Ledger
from holdfast.core.errors import LedgerError
from holdfast.core.run.event import Closed, Event, Reported, RunRequested, RunStage, Starting, Stopper, StopRequested
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import fold

WRITERS, EVENTS_EACH = 200, 20


def step(number: int, attempt: int = 1) -> Reported:
    return Reported(at_s=float(number), attempt=attempt, said={"event": "step", "step": number, "loss": 1 / number})


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    """Runs do not see each other's events, and reading on gives only what is new."""
    ledger = Ledger(tmp_path / "runs")
    ledger.append("a", [RunRequested(at_s=1, folder="f", about=RequestedJob(method="sft")), step(1)])
    ledger.append("b", [RunRequested(at_s=2, folder="g")])
    ledger.append("a", [Closed(at_s=3, stage=RunStage.FAILED, because="'quotes' & \";--\n")])

    stored = ledger.read("a")
    assert [type(event).__name__ for _, event in stored] == ["RunRequested", "Reported", "Closed"]
    assert ledger.read("a", after=stored[1][0]) == stored[2:]
    assert ledger.runs() == ["a", "b"]
    assert Ledger(tmp_path / "runs").read("a") == stored


def test_reading_makes_nothing(tmp_path: Path) -> None:
    """Asking about runs in a folder without any leaves it as it was."""
    assert Ledger(tmp_path / "none").runs() == []
    assert not (tmp_path / "none").exists()


def test_an_outline_knows_the_same_as_the_whole(tmp_path: Path) -> None:
    """The list of runs shows the right step without reading every one."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [RunRequested(at_s=0, folder="f"), Starting(at_s=1, attempt=1, backend="local")])
    ledger.append("a", [step(n) for n in range(1, 500)])

    ledger.append("a", [Starting(at_s=600, attempt=2, backend="local"), step(450, attempt=2), step(451, attempt=2)])

    outline = ledger.outline("a")
    assert len(outline) == 5
    assert [attempt.steps for attempt in fold(outline).attempts] == [499, 451]


def test_an_outline_has_the_last_figures_of_steps(tmp_path: Path) -> None:
    """Trainers log every few steps; the last one may have none."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [RunRequested(at_s=0, folder="f"), Starting(at_s=1, attempt=1, backend="local")])
    figures: dict[int, dict[str, Any]] = {4: {"loss": 3.0}, 8: {"loss": 2.5, "metrics": {"reward": 0.25}}}
    for number in range(1, 11):
        said = {"event": "step", "step": number, **figures.get(number, {})}
        ledger.append("a", [Reported(at_s=float(number), attempt=1, said=said)])

    outline = fold(ledger.outline("a"))

    assert outline.attempts[-1].steps == 10
    assert outline.attempts[-1].metrics == fold([event for _, event in ledger.read("a")]).attempts[-1].metrics
    assert outline.attempts[-1].metrics == {"train_loss": 2.5, "reward": 0.25}


@pytest.mark.parametrize("nan", [["grad_norm"], ["reward", "grad_norm"]])
def test_an_outline_has_the_last_loss_before_nan(tmp_path: Path, nan: list[str]) -> None:
    """A loss of 0 beside gradients that are not finite is none; one beside another metric is."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [RunRequested(at_s=0, folder="f"), Starting(at_s=1, attempt=1, backend="local")])
    ledger.append("a", [step(1), step(2)])
    for number in range(3, 6):
        said = {"event": "step", "step": number, "loss": 0.0, "nan": nan}
        ledger.append("a", [Reported(at_s=float(number), attempt=1, said=said)])

    assert fold(ledger.outline("a")).attempts[-1].metrics == {"train_loss": 0.5}
    ledger.append(
        "a", [Reported(at_s=9.0, attempt=1, said={"event": "step", "step": 6, "loss": 0.0, "nan": ["reward"]})]
    )
    assert fold(ledger.outline("a")).attempts[-1].metrics == {"train_loss": 0.0}


@pytest.mark.parametrize("listed", [Ledger.trials, Ledger.runs])
def test_a_list_of_runs_costs_the_same_however_long_they_are(tmp_path: Path, listed: Callable[[Ledger], Any]) -> None:
    """A study lists its trials whenever one starts: SQLite does as much work for runs of 100 events as for runs of two."""
    work: list[int] = []
    for count in (2, 100):
        ledger = Ledger(tmp_path / str(count))
        for number in range(5):
            about = RequestedJob(job="j", study="s", trial=f"t{number}")
            ledger.append(f"run-{number}", [RunRequested(at_s=number, folder="f", about=about)])
            ledger.append(f"run-{number}", [Starting(at_s=number, attempt=1, backend="local")] * (count - 1))
        work.append(0)

        def note() -> int:
            work[-1] += 1
            return 0

        ledger._connection().set_progress_handler(note, 1)
        assert len(listed(ledger)) == 5
    assert work[0] == work[1] > 0


@pytest.mark.long
def test_two_hundred_runs_write_at_once(tmp_path: Path) -> None:
    """Two hundred processes that start together lose no event and meet no lock error."""
    program = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from holdfast.adapters.storage.ledger import Ledger
        from holdfast.core.run.event import Reported

        folder, writers, events = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
        waits, starts = os.pipe()
        for writer in range(writers):
            if os.fork() == 0:
                os.close(starts)
                os.read(waits, 1)  # until all are there
                ledger = Ledger(folder)
                for n in range(events):
                    ledger.append(f"run-{writer}", [Reported(at_s=n, attempt=1, said={"event": "step", "step": n})])
                os._exit(0)
        os.close(starts)
        sys.exit(sum(os.wait()[1] != 0 for _ in range(writers)))
    """)
    words = [sys.executable, "-c", program, str(tmp_path), str(WRITERS), str(EVENTS_EACH)]
    writing = subprocess.run(words, check=False, capture_output=True, text=True)

    assert writing.returncode == 0, writing.stderr
    ledger = Ledger(tmp_path)
    assert sorted(ledger.runs()) == sorted(f"run-{n}" for n in range(WRITERS))
    assert all(len(ledger.read(f"run-{n}")) == EVENTS_EACH for n in range(WRITERS))


def test_a_writer_killed_in_the_middle_leaves_whole_events(tmp_path: Path) -> None:
    """SIGKILL while writing: what was acknowledged is there, and the ledger can be read and written."""
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from holdfast.adapters.storage.ledger import Ledger
        from holdfast.core.run.event import Reported
        ledger = Ledger(Path(sys.argv[1]))
        for n in range(1, 100_000):
            ledger.append("a", [Reported(at_s=n, attempt=1, said={"event": "step", "step": n})])
            print(n, flush=True)
    """)
    writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()

    ledger = Ledger(tmp_path)
    assert len(ledger.read("a")) >= acknowledged
    ledger.append("a", [step(1)])


def test_a_failed_append_leaves_nothing(tmp_path: Path) -> None:
    """All events of one call or none: those that no longer fit on the disk leave no line that is cut off."""
    program = textwrap.dedent("""
        import resource, sys
        from pathlib import Path
        from holdfast.adapters.storage.ledger import Ledger
        from holdfast.core.errors import LedgerError
        from holdfast.core.run.event import Reported
        ledger, size = Ledger(Path(sys.argv[1])), int(sys.argv[2])
        ledger.append("a", [Reported(at_s=1, attempt=1, said={"event": "step"})])
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            ledger.append("a", [Reported(at_s=n, attempt=1, said={"event": "step", "text": "x" * 300}) for n in range(9)])
        except LedgerError as error:
            print(error.fix)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), "1000"], capture_output=True, text=True, check=True
    )

    assert "free some disk space" in done.stdout
    assert len((tmp_path / "a" / JOURNAL).read_text().splitlines()) == 1
    assert len(Ledger(tmp_path).read("a")) == 1


def rows_of(ledger: Ledger) -> dict[str, list[Event]]:
    return {run: [event for _, event in ledger.read(run)] for run in ledger.runs()}


def fill(folder: Path) -> dict[str, list[Event]]:
    """Three runs of different lengths."""
    ledger = Ledger(folder)
    for number, run in enumerate("cab"):
        ledger.append(run, [RunRequested(at_s=number, folder=str(folder / run), about=RequestedJob(method="sft"))])
        ledger.append(run, [step(each) for each in range(1, 40 * number + 2)])
    return rows_of(ledger)


def truncate(index: Path) -> None:
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])


def overwrite(index: Path) -> None:
    data = bytearray(index.read_bytes())
    data[5000:9000] = b"\xff" * 4000
    index.write_bytes(data)


def delete_all(index: Path) -> None:
    for path in index.parent.glob("ledger.sqlite*"):
        path.unlink()


def replace_with_another(index: Path) -> None:
    delete_all(index)
    sqlite3.connect(index).executescript("CREATE TABLE t (a)").close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": delete_all,
    "deleted, its log left": Path.unlink,
    "moved aside": lambda index: index.rename(index.with_name("ledger.old")),
    "empty": lambda index: index.write_bytes(b""),
    "text": lambda index: index.write_text("no database" * 1000),
    "truncated": truncate,
    "overwritten": overwrite,
    "of something else": replace_with_another,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("order", ["read", "append"])
def test_the_index_is_made_anew_from_the_run_folders(tmp_path: Path, damage: str, order: str) -> None:
    """Whatever becomes of `ledger.sqlite`, every event of every run is there, in its order, and more can be written."""
    before = fill(tmp_path)
    DAMAGE[damage](tmp_path / "ledger.sqlite")

    ledger = Ledger(tmp_path)
    if order == "append":
        ledger.append("a", [step(1000)])
        before["a"].append(step(1000))
    assert rows_of(ledger) == before
    assert list(rows_of(ledger)) == ["c", "a", "b"]
    ledger.append("b", [step(2000)])
    assert rows_of(Ledger(tmp_path)) == before | {"b": [*before["b"], step(2000)]}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_supervisor_goes_on_while_its_index_is_damaged(tmp_path: Path, damage: str) -> None:
    """One that has the index open loses no event, hears those of others, and keeps its place among them."""
    before = fill(tmp_path)
    supervisor, stopper = Ledger(tmp_path), Ledger(tmp_path)
    last = supervisor.read("a")[-1][0]
    stopper.read("a")
    DAMAGE[damage](tmp_path / "ledger.sqlite")

    supervisor.append("a", [step(500)])
    stopper.append("a", [StopRequested(at_s=600, by=Stopper.PERSON)])
    supervisor.append("a", [step(501)])
    news = [step(500), StopRequested(at_s=600, by=Stopper.PERSON), step(501)]
    assert [event for _, event in supervisor.read("a", after=last)] == news
    assert rows_of(Ledger(tmp_path)) == before | {"a": [*before["a"], *news]}


@pytest.mark.parametrize(
    ("column", "value"),
    [("fields", "'{bad json'"), ("kind", "'of another year'"), ("fields", "'{}'"), ("fields", "'7'")],
)
def test_a_damaged_row_is_read_from_its_journal(tmp_path: Path, column: str, value: str) -> None:
    """A row that cannot be read is taken from the run's folder again."""
    before = fill(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        database.execute(f"UPDATE events SET {column} = {value} WHERE run = 'b' AND number = 3")  # noqa: S608 - ours

    assert rows_of(Ledger(tmp_path)) == before


@pytest.mark.parametrize("seed", range(4))
def test_an_index_with_flipped_bytes_is_made_anew_or_read(tmp_path: Path, seed: int) -> None:
    """SQLite's own message may have the damaged bytes; whatever it says, each run can be read and written."""
    before, chance = fill(tmp_path), random.Random(seed)  # noqa: S311 - drawn, no secret
    index = tmp_path / "ledger.sqlite"
    sqlite3.connect(index).execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    whole = index.read_bytes()
    schema = whole.find(b"CREATE TABLE events")
    for place in [schema + 20, *(chance.randrange(len(whole)) for _ in range(12))]:
        delete_all(index)
        index.write_bytes(whole[:place] + bytes([0xBE if place < 4096 else chance.randrange(256)]) + whole[place + 1 :])
        ledger = Ledger(tmp_path)
        assert set(ledger.runs()) <= set(before)
        ledger.append("a", [step(1)])
        before["a"].append(step(1))


@pytest.mark.parametrize("value", ["'x'", "x'ff'", "-1", "1.5", str((1 << 63) - 1)])
@pytest.mark.parametrize("column", ["runs SET bytes", "events SET number"])
def test_an_index_with_a_value_of_nobody_is_made_anew(tmp_path: Path, column: str, value: str) -> None:
    """A number of bytes or of events that no journal has."""
    before = fill(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        database.execute("DELETE FROM events WHERE run = 'c' AND number > 1")
        database.execute(f"UPDATE {column} = {value} WHERE run = 'c'")

    ledger = Ledger(tmp_path)
    ledger.append("c", [step(9)])
    assert rows_of(ledger) == before | {"c": [*before["c"], step(9)]}


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_an_index_that_is_no_file_is_said(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """The way out is to move it away."""
    fill(tmp_path)
    delete_all(tmp_path / "ledger.sqlite")
    make(tmp_path / "ledger.sqlite")

    with pytest.raises(LedgerError) as error:
        Ledger(tmp_path).runs()
    assert "move it away" in error.value.fix


@pytest.mark.parametrize(
    "line", ["{bad json", '{"kind": "of another year", "fields": {"at_s": 1}}', "[]", '{"kind": "polled"}', "\0\0"]
)
def test_a_damaged_line_concerns_its_run_alone(tmp_path: Path, line: str) -> None:
    """The line is named; all other runs are read as ever."""
    before = fill(tmp_path)
    journal = tmp_path / "a" / JOURNAL
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    delete_all(tmp_path / "ledger.sqlite")

    ledger = Ledger(tmp_path)
    assert [event for _, event in ledger.read("b")] == before["b"]
    with pytest.raises(LedgerError) as error:
        ledger.read("a")
    assert error.value.where == f"{journal}:3"
    journal.write_text("\n".join([*lines[:2], *lines[3:]]) + "\n")
    delete_all(tmp_path / "ledger.sqlite")
    assert len(ledger.read("a")) == len(before["a"]) - 1


def test_a_journal_that_was_lost_is_written_again(tmp_path: Path) -> None:
    """What the index has and the folder has no more comes back with the next event."""
    before = fill(tmp_path)
    for kept in (0, 17):
        journal = tmp_path / "b" / JOURNAL
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:kept]))
        Ledger(tmp_path).append("b", [step(kept + 7)])
        before["b"].append(step(kept + 7))
        delete_all(tmp_path / "ledger.sqlite")
        assert rows_of(Ledger(tmp_path)) == before


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a read-only disk are listed and shown, without an index being made."""
    before = fill(tmp_path)
    delete_all(tmp_path / "ledger.sqlite")
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert rows_of(Ledger(tmp_path)) == before
    assert not [*tmp_path.glob("ledger.sqlite*")]


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(each, marks=pytest.mark.long) for each in range(12, 300))])
def test_nothing_is_lost_in_any_order(tmp_path: Path, seed: int) -> None:
    """Three that write, read and are started anew, while the index is damaged again and again."""
    draw, events, number = random.Random(seed), dict[str, list[Event]](), 0  # noqa: S311 - drawn, no secret
    ledgers = [Ledger(tmp_path) for _ in range(3)]
    for what in draw.choices(["append", "read", "damage", "start"], [5, 1, 1, 1], k=40):
        if what == "append":
            run, news = draw.choice("abc"), [step(number + each) for each in range(1, draw.randint(2, 5))]
            draw.choice(ledgers).append(run, news)
            events.setdefault(run, []).extend(news)
            number += len(news)
        elif what == "read":
            assert rows_of(draw.choice(ledgers)) == events
        elif what == "damage" and (tmp_path / "ledger.sqlite").exists():
            draw.choice([*DAMAGE.values()])(tmp_path / "ledger.sqlite")
        elif what == "start":
            ledgers[draw.randrange(3)] = Ledger(tmp_path)

    assert all(rows_of(each) == events for each in (*ledgers, Ledger(tmp_path)))


def test_a_line_that_a_kill_cut_off_is_taken_away(tmp_path: Path) -> None:
    """It was never acknowledged; what is written after it is whole."""
    before = fill(tmp_path)
    with (tmp_path / "a" / JOURNAL).open("ab") as journal:
        journal.write(b'{"kind": "reported", "fie')

    assert rows_of(Ledger(tmp_path)) == before
    Ledger(tmp_path).append("a", [step(9)])
    delete_all(tmp_path / "ledger.sqlite")
    assert rows_of(Ledger(tmp_path)) == before | {"a": [*before["a"], step(9)]}


def test_an_unwritable_folder_is_said_clearly(tmp_path: Path) -> None:
    """A runs folder that is a file: what, where, how to fix."""
    (tmp_path / "runs").write_text("")

    with pytest.raises(LedgerError) as error:
        Ledger(tmp_path / "runs").append("a", [step(1)])
    assert "--runs" in error.value.fix


def test_the_ledger_is_made_where_it_will_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a runs folder that is not there yet, and never by way of another disk; nothing else is left in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "another disk"))
    Ledger(tmp_path / "deep" / "runs").append("a", [step(1)])
    made = {path.name.partition("-")[0] for path in (tmp_path / "deep" / "runs").iterdir()}

    assert made == {"ledger.sqlite", ".ledger.lock", "a"}


def test_what_json_has_no_word_for_is_kept_as_text(tmp_path: Path) -> None:
    """A callback may report anything; no event is lost for it."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [Reported(at_s=1, attempt=1, said={"event": "custom", "path": PurePosixPath("out/model")})])

    ((_, event),) = ledger.read("a")
    assert isinstance(event, Reported)
    assert event.said == {"event": "custom", "path": "out/model"}


def test_a_writer_waits_for_the_others(tmp_path: Path) -> None:
    """For as long as two hundred of them need, not for SQLite's five seconds."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [step(1)])

    assert ledger._connection().execute("PRAGMA busy_timeout").fetchone() == (BUSY_TIMEOUT_S * 1000,)


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (sqlite3.SQLITE_FULL, "free some disk space, or choose another folder with --runs"),
        (sqlite3.SQLITE_IOERR_WRITE, "free some disk space, or choose another folder with --runs"),
        (sqlite3.SQLITE_BUSY, "another process holds it; try again"),
        (sqlite3.SQLITE_READONLY, "check the folder's permissions, or choose another with --runs"),
        (None, "check the folder's permissions, or choose another with --runs"),
    ],
)
def test_each_failure_of_the_ledger_has_a_way_out(code: int | None, fix: str) -> None:
    """By SQLite's code; an error that Python itself raises has none."""
    error = sqlite3.OperationalError("an error")
    if code is not None:
        error.sqlite_errorcode = code
    assert fix_of(error) == fix
