"""The ledger loses nothing, whoever writes at once and whoever is killed."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path, PurePosixPath

import pytest

from holdfast.adapters.storage.ledger import BUSY_TIMEOUT_S, Ledger, _fix
from holdfast.core.errors import LedgerError
from holdfast.core.event import Closed, Reported, RunRequested, Stage, Starting, fold

WRITERS, EVENTS_EACH = 200, 20


def step(number: int, attempt: int = 1) -> Reported:
    return Reported(at_s=float(number), attempt=attempt, said={"event": "step", "step": number, "loss": 1 / number})


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    """Runs do not see each other's events, and reading on gives only what is new."""
    ledger = Ledger(tmp_path / "runs")
    ledger.append("a", [RunRequested(at_s=1, folder="f", about={"method": "sft"}), step(1)])
    ledger.append("b", [RunRequested(at_s=2, folder="g")])
    ledger.append("a", [Closed(at_s=3, stage=Stage.FAILED, because="'quotes' & \";--\n")])

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


def test_two_hundred_runs_write_at_once(tmp_path: Path) -> None:
    """Two hundred processes that start together lose no event and meet no lock error."""
    program = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from holdfast.adapters.storage.ledger import BUSY_TIMEOUT_S, Ledger, _fix
        from holdfast.core.event import Reported

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
        from holdfast.adapters.storage.ledger import BUSY_TIMEOUT_S, Ledger, _fix
        from holdfast.core.event import Reported
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
    """All events of one call or none."""
    ledger = Ledger(tmp_path)
    ledger.append("a", [step(1)])

    with pytest.raises(LedgerError):
        ledger.append("a", [step(2), RunRequested(at_s=None, folder="f")])  # type: ignore[arg-type]  # a wrong value, on purpose
    assert len(ledger.read("a")) == 1


def test_a_broken_ledger_is_said_clearly(tmp_path: Path) -> None:
    """A file that is no ledger: what, where, how to fix."""
    (tmp_path / "ledger.sqlite").write_text("no database" * 1000)

    with pytest.raises(LedgerError) as error:
        Ledger(tmp_path).runs()
    assert str(tmp_path) in str(error.value.where)
    assert "move the file aside" in error.value.fix


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

    assert {path.name.partition("-")[0] for path in (tmp_path / "deep" / "runs").iterdir()} == {"ledger.sqlite"}


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
    ("message", "fix"),
    [
        ("database or disk is full", "free some disk space, or choose another folder with --runs"),
        ("disk I/O error", "free some disk space, or choose another folder with --runs"),
        ("database is locked", "another process holds it; try again"),
        ("database disk image is malformed", "move the file aside; the run folders beside it are still whole"),
        ("file is not a database", "move the file aside; the run folders beside it are still whole"),
        ("attempt to write a readonly database", "check the folder's permissions, or choose another with --runs"),
    ],
)
def test_each_failure_of_the_ledger_has_a_way_out(message: str, fix: str) -> None:
    """In SQLite's words."""
    assert _fix(message) == fix
