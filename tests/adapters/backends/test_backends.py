"""Every backend keeps the promises of `ports.Backend`: one conformance test, and what is special to each."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from holdfast.adapters.backends import backend_names
from holdfast.adapters.backends.local import GUARD, LocalBackend
from holdfast.adapters.environment.marked_processes import find_marked
from holdfast.app.run.backends import OPENERS
from holdfast.core.backends import capabilities_of
from holdfast.core.event import Liveness
from holdfast.core.plan import Attempt, Plan
from holdfast.ports import Backend, PollResult

PATIENCE_S = 20.0

REPORTING = """
    import json, os, pathlib, signal, sys, time
    folder = pathlib.Path(os.environ["HOLDFAST_ATTEMPT"])
    (folder / "pids").mkdir()
    (folder / "pids" / "rank-0").write_text(str(os.getpid()))
    def say(**said):
        with open(folder / "events.jsonl", "a") as file:
            file.write(json.dumps(said) + "\\n")
"""
SHORT = (
    REPORTING
    + """
    say(event="start", argv=sys.argv[1:])
    print("out"); print("err", file=sys.stderr)
    say(event="end", status="finished")
"""
)
LONG = (
    REPORTING
    + """
    def leave(*_):
        say(event="end", status="stopped")
        sys.exit(143)
    signal.signal(signal.SIGTERM, leave)
    say(event="start")
    time.sleep(600)
"""
)


def make_attempt(folder: Path, source: str, number: int = 1, arguments: tuple[str, ...] = ()) -> Attempt:
    attempt = folder / str(number)
    attempt.mkdir(parents=True)
    (attempt / "attempt.py").write_text(textwrap.dedent(source))
    plan = Plan(name="job", script=source, script_name="train.py", cwd="/", arguments=arguments)
    return Attempt(run="run", number=number, folder=str(attempt), plan=plan)


@pytest.fixture(params=["local"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return {"local": LocalBackend([sys.executable], os.environ)}[request.param]


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path) -> Iterator[None]:
    """No test leaves a process of its own."""
    yield
    for process in psutil.process_iter(["cmdline"]):
        if str(tmp_path) in " ".join(process.info["cmdline"] or []):
            process.kill()


def until(backend: Backend, attempt: str, wanted: Callable[[PollResult], bool]) -> PollResult:
    """Look again and again; every look starts from the first report."""
    end = time.monotonic() + PATIENCE_S
    while not wanted(look := backend.poll(attempt, skip=0)):
        assert time.monotonic() < end, look
        time.sleep(0.02)  # noqa: TID251 - a real process
    return look


def ended(look: PollResult) -> bool:
    return look.answer is Liveness.ENDED


def started(look: PollResult) -> bool:
    return bool(look.reports)


HOSTILE = ("two words", 'quote"s', "$(touch pwned)", "; echo", "new\nline", "*", "")


def test_an_attempt_runs_to_its_end(backend: Backend, tmp_path: Path) -> None:
    """Its reports come in order, its words arrive unharmed, and its exit code is known."""
    attempt = backend.submit(make_attempt(tmp_path, SHORT, arguments=HOSTILE))
    look = until(backend, attempt, ended)

    assert look.exit_code == 0
    assert [report["event"] for report in look.reports] == ["start", "end"]
    assert look.reports[0]["argv"] == list(HOSTILE)


def test_submitting_twice_starts_once(backend: Backend, tmp_path: Path) -> None:
    """A supervisor that does not know whether it submitted may submit again."""
    attempt = make_attempt(tmp_path, SHORT)
    assert backend.submit(attempt) == backend.submit(attempt)
    until(backend, attempt.folder, ended)
    backend.submit(attempt)

    assert len(until(backend, attempt.folder, ended).reports) == 2


def test_reports_are_told_from_where_one_asks(backend: Backend, tmp_path: Path) -> None:
    """A supervisor that starts anew asks for what it has not yet."""
    attempt = backend.submit(make_attempt(tmp_path, SHORT))
    until(backend, attempt, ended)

    assert [report["event"] for report in backend.poll(attempt, skip=1).reports] == ["end"]
    assert list(backend.poll(attempt, skip=2).reports) == []


def test_a_failure_keeps_its_exit_code(backend: Backend, tmp_path: Path) -> None:
    """The code that the process left with."""
    attempt = backend.submit(make_attempt(tmp_path, "raise SystemExit(7)"))

    assert until(backend, attempt, ended).exit_code == 7


def test_stop_lets_it_save(backend: Backend, tmp_path: Path) -> None:
    """SIGTERM reaches the training process, which ends in its own way; stopping again does nothing."""
    attempt = backend.submit(make_attempt(tmp_path, LONG))
    assert until(backend, attempt, started).answer is Liveness.ALIVE
    backend.stop(attempt)
    look = until(backend, attempt, ended)
    backend.stop(attempt)

    assert look.exit_code == 143
    assert look.reports[-1] == {"event": "end", "status": "stopped"}


def test_an_attempt_says_where_it_is(backend: Backend, tmp_path: Path) -> None:
    """Asked for its stacks, the training process gets SIGUSR1 and goes on."""
    talking = LONG.replace(
        'say(event="start")', 'signal.signal(signal.SIGUSR1, lambda *_: say(event="stacks"))\n    say(event="start")'
    ).replace("time.sleep(600)", "[time.sleep(0.05) for _ in range(10_000)]")
    attempt = backend.submit(make_attempt(tmp_path, talking))
    until(backend, attempt, started)
    backend.request_stacks(attempt)

    assert until(backend, attempt, lambda look: len(look.reports) > 1).answer is Liveness.ALIVE


def test_kill_ends_it_at_once(backend: Backend, tmp_path: Path) -> None:
    """A process that does not hear SIGTERM ends all the same."""
    deaf = LONG.replace("signal.signal(signal.SIGTERM, leave)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    attempt = backend.submit(make_attempt(tmp_path, deaf))
    until(backend, attempt, started)
    backend.kill(attempt)

    assert until(backend, attempt, ended).exit_code == -signal.SIGKILL


def test_another_process_can_take_over(backend: Backend, tmp_path: Path) -> None:
    """What a second supervisor sees is what the first one saw: alive, then its exit code."""
    attempt = backend.submit(make_attempt(tmp_path, LONG))
    until(backend, attempt, started)
    other = LocalBackend([sys.executable], os.environ)

    assert other.poll(attempt, skip=0).answer is Liveness.ALIVE
    other.stop(attempt)
    assert until(other, attempt, ended).exit_code == 143


def test_local_keeps_both_streams_whole(tmp_path: Path) -> None:
    """Every byte of both streams is on disk, progress bars and all."""
    source = "import sys; sys.stdout.write('a\\rb\\n'); sys.stderr.buffer.write(b'\\xff\\r 5%')"
    backend = LocalBackend([sys.executable], os.environ)
    folder = Path(backend.submit(make_attempt(tmp_path, source)))
    until(backend, str(folder), ended)

    assert (folder / "stdout.log").read_bytes() == b"a\rb\n"
    assert (folder / "stderr.log").read_bytes() == b"\xff\r 5%"


def test_local_knows_a_dead_attempt_whose_guard_was_killed(tmp_path: Path) -> None:
    """Guard and process killed: it ended, and nobody knows how."""
    backend = LocalBackend([sys.executable], os.environ)
    attempt = backend.submit(make_attempt(tmp_path, LONG))
    until(backend, attempt, started)
    guard = json.loads((Path(attempt) / "guard.json").read_text())["pid"]
    os.kill(guard, signal.SIGKILL)
    assert backend.poll(attempt, skip=0).answer is Liveness.ALIVE  # the training goes on without it
    backend.stop(attempt)

    assert until(backend, attempt, ended).exit_code is None


def test_local_finds_an_attempt_whose_folder_was_deleted(tmp_path: Path) -> None:
    """Its processes live: that is no end, and they can be stopped all the same."""
    backend = LocalBackend([sys.executable], os.environ)
    attempt = backend.submit(make_attempt(tmp_path, LONG))
    until(backend, attempt, started)
    shutil.rmtree(attempt)

    look = LocalBackend([sys.executable], os.environ).poll(attempt, skip=0)
    assert look.answer is Liveness.UNKNOWN
    assert "its folder was deleted" in look.because
    LocalBackend((), os.environ).stop(attempt)
    until(backend, attempt, ended)
    assert find_marked("HOLDFAST_ATTEMPT", attempt) == []


def test_local_does_not_signal_a_stranger(tmp_path: Path) -> None:
    """A process id written long ago may be another's: it is left alone."""
    backend = LocalBackend([sys.executable], os.environ)
    attempt = backend.submit(make_attempt(tmp_path, SHORT))
    until(backend, attempt, ended)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (Path(attempt) / "pids" / "rank-0").write_text(str(stranger.pid))
    backend.stop(attempt)
    backend.kill(attempt)

    assert stranger.poll() is None
    stranger.communicate()


def test_local_passes_secrets_and_tells_the_attempt_what_it_is(tmp_path: Path) -> None:
    """The variables of the plan win over those of the shell."""
    source = REPORTING + "\n    say(event='start', env=dict(os.environ))\n"
    backend = LocalBackend([sys.executable], {**os.environ, "HF_TOKEN": "hf_x", "A": "shell"})
    attempt = make_attempt(tmp_path, source)
    plan = Plan(name="j", script="", script_name="s", cwd="/", processes=2, variables={"A": "job"})
    backend.submit(Attempt(run="r", number=1, folder=attempt.folder, plan=plan, resume_from="/c"))
    env = until(backend, attempt.folder, ended).reports[0]["env"]

    assert (env["HF_TOKEN"], env["A"], env["HOLDFAST_PROCESSES"], env["HOLDFAST_RESUME"]) == ("hf_x", "job", "2", "/c")


def test_two_guards_make_one_process(tmp_path: Path) -> None:
    """Two supervisors that start the same attempt in the same instant."""
    attempt = make_attempt(tmp_path, SHORT)
    command = [sys.executable, str(GUARD), attempt.folder, sys.executable, f"{attempt.folder}/attempt.py"]
    env = {**os.environ, "HOLDFAST_ATTEMPT": attempt.folder}
    guards = [subprocess.Popen(command, env=env) for _ in range(8)]

    assert [guard.wait() for guard in guards] == [0] * 8
    until(LocalBackend([sys.executable], os.environ), attempt.folder, ended)
    assert (Path(attempt.folder) / "events.jsonl").read_text().count("start") == 1


def test_an_unreadable_report_is_passed_on(tmp_path: Path) -> None:
    """A line that is no JSON object is kept as text and does not shift the others."""
    source = (
        REPORTING
        + """
    (folder / "events.jsonl").write_text('nonsense\\n[1]\\n{"event": "end"}\\n{"event": "half')
    """
    )
    backend = LocalBackend([sys.executable], os.environ)
    attempt = backend.submit(make_attempt(tmp_path, source))
    reports = until(backend, attempt, ended).reports

    assert [report["event"] for report in reports] == ["unreadable", "unreadable", "end"]


def test_check_and_run_know_the_same_backends() -> None:
    """`holdfast check` objects to a backend's name exactly where `holdfast run` would refuse it."""
    assert backend_names() == set(OPENERS)
    assert {name: open_(None, {}).capabilities for name, open_ in OPENERS.items()} == {
        name: capabilities_of(name) for name in OPENERS
    }
