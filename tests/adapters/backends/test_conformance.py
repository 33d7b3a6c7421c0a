"""Every backend keeps the promises of `ports.Backend`, whatever its service does."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.core.errors import BackendError
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt
from tests.adapters.backends.harnesses import HARNESSES, Followed, Harness, make_attempt, processes_with

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"  # noqa: S105 - of nobody
REPORT = """
    import os, signal, sys, time
    from holdfast_runtime import attempt
"""
SHORT = (
    REPORT
    + """
    attempt.write("start", argv=sys.argv[1:], hostile=os.environ.get("HOSTILE"))
    print("to stdout"); print("to stderr", file=sys.stderr)
"""
)
LONG = (
    REPORT
    + """
    attempt.write("start")
    time.sleep(600)
"""
)
TALKING = (
    REPORT
    + """
    for step in range(1, 101):
        attempt.write("step", step=step, text="@" * (step * 97 % 2500))
        print(f"line {step}", flush=True)
        sys.stderr.write(f"\\r {step}%|##")
        time.sleep(0.004)
"""
)
HOSTILE = (
    "two words",
    'quote"s',
    "it's",
    "$(touch pwned)",
    "$HOME",
    "; echo",
    "new\nline",
    "*",
    "ü@holdfast:é",
    "",
    "-x",
)


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    harness = HARNESSES[request.param](tmp_path, {"HF_TOKEN": TOKEN})
    yield harness
    harness.close()


def test_an_attempt_runs_to_its_end(harness: Harness, tmp_path: Path) -> None:
    """Words and variables arrive unharmed, events in order, both streams in the run's folder; the exit code is known."""
    variables = {"HOSTILE": "\n".join(HOSTILE)}
    attempt = make_attempt(tmp_path, SHORT, run="\n".join(HOSTILE), arguments=HOSTILE, variables=variables)
    followed = Followed.submit(harness, attempt)

    assert followed.to_its_end().exit_code == 0
    assert [event["event"] for event in followed.events] == ["start", "end"]
    assert followed.events[0]["argv"] == list(HOSTILE)
    assert followed.events[0]["hostile"] == variables["HOSTILE"]
    assert sorted(followed.log().splitlines()) == ["to stderr", "to stdout"]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("place", ["arguments", "variables"])
def test_a_nul_is_refused(harness: Harness, tmp_path: Path, place: str) -> None:
    """No program can be given one: that is said, and nothing is started."""
    fields = {"arguments": ("a\0b",)} if place == "arguments" else {"variables": {"A": "a\0b"}}
    with pytest.raises(BackendError, match="null"):
        harness.open().submit(make_attempt(tmp_path, SHORT, **fields))


def test_submitting_again_starts_nothing(harness: Harness, tmp_path: Path) -> None:
    """Whoever does not know whether the attempt was started submits it again: at once, by another process, after its end."""
    attempt = make_attempt(tmp_path, SHORT)
    with ThreadPoolExecutor() as pool:
        ids = set(pool.map(lambda backend: backend.submit(attempt), [harness.open() for _ in range(4)]))
    followed = Followed.submit(harness, attempt)
    followed.to_its_end()

    assert ids == {followed.id, harness.open().submit(attempt)}
    again = Followed.submit(harness, attempt)
    again.to_its_end()
    assert len(again.said("start")) == len(followed.said("start")) == 1


def test_another_attempt_is_another(harness: Harness, tmp_path: Path) -> None:
    """The second try of a run is started though the first one was."""
    first = Followed.submit(harness, make_attempt(tmp_path, SHORT))
    second = Followed.submit(harness, make_attempt(tmp_path, SHORT, number=2))

    assert first.id != second.id
    assert first.to_its_end().exit_code == second.to_its_end().exit_code == 0


@pytest.mark.parametrize("code", [0, 7, 255])
def test_the_exit_code_is_kept(harness: Harness, tmp_path: Path, code: int) -> None:
    """The code that the process left with."""
    followed = Followed.submit(harness, make_attempt(tmp_path, f"raise SystemExit({code})"))

    assert followed.to_its_end().exit_code == code


def test_nothing_of_a_log_is_lost_or_doubled_across_reconnects(harness: Harness, tmp_path: Path) -> None:
    """A hundred supervisors, one after the other, have together read every event and every line once."""
    followed = Followed.submit(harness, make_attempt(tmp_path, TALKING))
    for _ in range(100):
        followed = followed.taken_over(harness)
        followed.look()
    followed.to_its_end()

    assert [event["step"] for event in followed.said("step")] == list(range(1, 101))
    assert all(event["text"] == "@" * (event["step"] * 97 % 2500) for event in followed.said("step"))
    assert followed.lost == 0
    log = followed.log()
    assert "@holdfast" not in log
    assert [log.count(f"line {step}\n") for step in range(1, 101)] == [1] * 100
    assert [log.count(f" {step}%|##") for step in range(1, 101)] == [1] * 100


def test_stop_lets_it_save(harness: Harness, tmp_path: Path) -> None:
    """SIGTERM reaches the training process, which ends in order; stopping it again changes nothing."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    harness.open().stop(followed.id)
    look = followed.to_its_end()
    harness.open().stop(followed.id)

    assert look.exit_code == 143
    assert [event["status"] for event in followed.said("end")] == ["stopped"]


def test_an_attempt_can_be_stopped_before_its_script_runs(harness: Harness, tmp_path: Path) -> None:
    """It ends, and nothing of it goes on."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.backend.stop(followed.id)
    followed.to_its_end()

    assert followed.said("start") == [] or harness.is_heard_late


def test_kill_ends_it_at_once(harness: Harness, tmp_path: Path) -> None:
    """A process that does not hear SIGTERM ends all the same; killing it again changes nothing."""
    deaf = LONG.replace(
        'attempt.write("start")', 'signal.signal(signal.SIGTERM, signal.SIG_IGN); attempt.write("start")'
    )
    followed = Followed.submit(harness, make_attempt(tmp_path, deaf))
    followed.until(lambda _: followed.events)
    harness.open().kill(followed.id)
    look = followed.to_its_end()
    harness.open().kill(followed.id)

    assert look.exit_code in (-signal.SIGKILL, None)  # a service may not say


def test_a_lost_machine_is_an_end(harness: Harness, tmp_path: Path) -> None:
    """Nobody knows how it ended, and what had arrived before is kept."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    harness.lose_machine(followed.id)

    assert followed.to_its_end().exit_code is None
    assert [event["event"] for event in followed.events] == ["start"]


def test_an_attempt_shows_where_it_is(harness: Harness, tmp_path: Path) -> None:
    """Asked for its stacks, it writes them and goes on; they are in the run's folder in the end."""
    script = LONG.replace("time.sleep(600)", "[time.sleep(0.02) for _ in range(9999)]")
    followed = Followed.submit(harness, make_attempt(tmp_path, script))
    followed.until(lambda _: followed.events)
    harness.open().request_stacks(followed.id)
    time.sleep(0.2)  # noqa: TID251 - a real process
    followed.until(lambda look: look.answer is Liveness.ALIVE)
    followed.backend.stop(followed.id)
    followed.to_its_end()

    assert "train.py" in (followed.folder / "attempts" / "1" / "stacks.txt").read_text()


def test_its_files_come_back(harness: Harness, tmp_path: Path) -> None:
    """What it wrote into the run's folder is in the run's folder here; the next attempt finds it where it is."""
    writes = """
        import os, pathlib
        folder = pathlib.Path(os.environ["HOLDFAST_RUN"], "model")
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"x" * 9999)
    """
    reads = """
        import os, pathlib
        pathlib.Path(os.environ["HOLDFAST_RUN"], "model", "model.safetensors").stat()
    """
    followed = Followed.submit(harness, make_attempt(tmp_path, writes))
    assert followed.to_its_end().exit_code == 0
    second = Followed.submit(harness, make_attempt(tmp_path, reads, number=2))

    assert (followed.folder / "model" / "model.safetensors").read_bytes() == b"x" * 9999
    assert second.to_its_end().exit_code == 0


def test_a_secret_reaches_the_script_and_nothing_else(harness: Harness, tmp_path: Path) -> None:
    """It is on no command line and in no file, neither here nor there."""
    script = LONG.replace('"start"', '"start", length=len(os.environ["HF_TOKEN"])')
    followed = Followed.submit(harness, make_attempt(tmp_path, script, secrets=("HF_TOKEN",)))
    followed.until(lambda _: followed.events)
    assert processes_with(TOKEN) == []
    followed.backend.kill(followed.id)
    followed.to_its_end()

    assert followed.events[0]["length"] == len(TOKEN)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()] == []


def test_what_it_says_it_can_do_is_true(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether files of this machine reach the attempt, and whether its own variables do."""
    monkeypatch.setenv("HOLDFAST_TEST_OF_CAPABILITIES", "1")
    (tmp_path / "beside.txt").touch()
    script = (
        REPORT
        + """
    attempt.write("start", beside=os.path.exists("beside.txt"), shared="HOLDFAST_TEST_OF_CAPABILITIES" in os.environ)
    """
    )
    followed = Followed.submit(harness, make_attempt(tmp_path, script))
    followed.to_its_end()
    capabilities = followed.backend.capabilities

    assert followed.events[0]["beside"] == capabilities.shares_files == (followed.backend.retrieval is None)
    assert followed.events[0]["shared"] == capabilities.is_here


def test_an_attempt_that_it_does_not_know_is_no_dead_attempt(harness: Harness) -> None:
    """One that shares no files may be asked for an attempt of another account."""
    if harness.open().capabilities.shares_files:
        pytest.skip("its id is a folder, and a folder without a process has no attempt")
    backend = harness.open()

    assert backend.poll("nobody's").answer is Liveness.UNKNOWN
    backend.stop("nobody's")
    backend.kill("nobody's")


def test_an_attempt_of_another_run_is_another(harness: Harness, tmp_path: Path) -> None:
    """The key has the run in it; runs of two people may have the same name."""
    attempt = make_attempt(tmp_path, SHORT, key="mine")
    other: Attempt = replace(make_attempt(tmp_path / "b", SHORT, key="mine"), run="other")
    namesake = make_attempt(tmp_path / "c", SHORT, key="yours")

    assert len({harness.open().submit(each) for each in (attempt, other, namesake)}) == 3
