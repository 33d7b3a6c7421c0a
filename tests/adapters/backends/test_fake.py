"""The faults of the fake: they are chosen in a job file, and each happens as it says."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest

from holdfast.adapters.backends.fake import SHARES, FakeBackend, Faults
from holdfast.core.errors import UnreachableError, UsageError
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Plan
from tests.adapters.backends.harnesses import FakeHarness, Followed, make_attempt

LONG = 'import time; from holdfast_runtime import attempt; attempt.write("start"); time.sleep(600)'


@pytest.mark.parametrize(
    ("faults", "what"),
    [
        ({"unreachabel": 0.5}, "there is no fault 'unreachabel'"),
        ({"unknown": "often"}, "Expected `float`"),
        ("bad", "E"),
    ],
)
def test_a_fault_that_does_not_exist_is_refused(faults: object, what: str) -> None:
    """With the names of those that do."""
    plan = Plan(name="a", script="", script_name="a.py", cwd="/", options={"faults": faults})
    with pytest.raises(UsageError, match=what) as refused:
        FakeBackend.open(plan, {})

    assert "log_cut" in refused.value.fix


@pytest.mark.parametrize(
    "faults",
    [
        *({name: value} for name in SHARES for value in (-0.1, 1.1, float("nan"))),
        {"queue_s": -1},
        {"queue_s": float("inf")},
        {"dies_at_call": -1},
        {"vanishes_at_poll": -1},
    ],
    ids=str,
)
def test_a_fault_that_cannot_happen_so_often_is_refused(faults: dict[str, float]) -> None:
    """At the key of the job file."""
    plan = Plan(name="a", script="", script_name="a.py", cwd="/", options={"faults": faults})
    with pytest.raises(UsageError, match=next(iter(faults))) as refused:
        FakeBackend.open(plan, {})

    assert refused.value.where == "where.options.faults"


def test_every_share_is_checked() -> None:
    """A new one is too."""
    assert set(SHARES) == {each.name for each in fields(Faults) if each.type is float} - {"queue_s"}


def test_an_attempt_that_two_submit_at_once_runs_its_whole_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second, slower one does not empty the script while its process reads it."""
    submissions = iter([0.0, 0.05])

    def copy(source: Path, target: Path) -> None:
        late_s = next(submissions)
        time.sleep(late_s)  # noqa: TID251 - a real process
        with target.open("wb") as file:
            time.sleep(late_s * 10)  # noqa: TID251 - a real process
            file.write(source.read_bytes())

    monkeypatch.setattr("shutil.copyfile", copy)
    harness = FakeHarness(tmp_path, {})
    attempt = make_attempt(tmp_path, 'from holdfast_runtime import attempt; attempt.write("start")')
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda backend: backend.submit(attempt), [harness.open(), harness.open()])
    assert first == second

    monkeypatch.undo()
    followed = Followed.submit(harness, attempt)
    followed.to_its_end()
    assert len(followed.said("start")) == 1


def test_a_poll_and_a_call_survive_a_disk_that_misbehaves(tmp_path: Path) -> None:
    """A poll is then unknown; any other call is tried again."""
    backend = FakeHarness(tmp_path, {}).open()
    for spoilt in ("attempt", "store"):
        (tmp_path / "far away" / spoilt / spoilt).mkdir(parents=True)

        assert backend.poll(spoilt).answer is Liveness.UNKNOWN
        with pytest.raises(UnreachableError):
            backend.list_files(spoilt)


def test_a_stale_answer_is_of_the_same_attempt(tmp_path: Path) -> None:
    """One that has ended says nothing of another."""
    backend = FakeBackend(tmp_path / "far away", dict(os.environ), Faults(stale=1.0))
    ended = backend.submit(make_attempt(tmp_path, "pass"))
    while FakeBackend(tmp_path / "far away", {}).poll(ended).answer is not Liveness.ENDED:
        pass
    backend.poll(ended)
    alive = backend.submit(make_attempt(tmp_path, LONG, number=2))

    assert backend.poll(alive).answer is Liveness.ALIVE


def test_a_machine_vanishes_at_its_poll(tmp_path: Path) -> None:
    """The attempt has ended, and nobody knows how."""
    harness = FakeHarness(tmp_path, {}, Faults(vanishes_at_poll=3))

    assert Followed.submit(harness, make_attempt(tmp_path, LONG)).to_its_end().exit_code is None


def test_a_submit_whose_answer_is_lost_has_started_one_attempt(tmp_path: Path) -> None:
    """Submitted again, it is the same one; in the outage in between, nothing arrives."""
    attempt = make_attempt(tmp_path, LONG)
    backend = FakeHarness(tmp_path, {}, Faults(dies_at_call=1)).open()
    answers = []
    for _ in range(6):
        try:
            answers.append(backend.submit(attempt))
        except UnreachableError as error:
            answers.append(error.what)

    assert answers[:4] == ["the service did not answer in time", *["no route to the service"] * 3]
    assert answers[4] == answers[5]
    assert len(list((tmp_path / "far away").glob("fake-*"))) == 1
