"""Locks of files, which many processes take and look at."""

import fcntl
from pathlib import Path

import pytest

from holdfast.adapters.storage.locks import holding, is_held


def test_a_look_at_a_lock_keeps_nobody_from_taking_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`watch` looks at the lock of a supervisor twice a second: a `resume` at that moment has it all the same."""
    lock, looks, flock = tmp_path / "supervisor.lock", [1, 2, 3], fcntl.flock
    lock.touch()

    def flock_beside_a_look(descriptor: int, kind: int) -> None:
        with lock.open("rb") as looking:
            if kind & fcntl.LOCK_EX and looks and looks.pop():
                flock(looking, fcntl.LOCK_SH)
            flock(descriptor, kind)

    monkeypatch.setattr("holdfast.adapters.storage.locks.flock", flock_beside_a_look)
    with holding(lock) as mine:
        assert mine
        assert is_held(lock)


def test_a_look_that_lasts_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine: without a pause, all tries were over before the other process had the processor again."""
    lock = tmp_path / "supervisor.lock"
    lock.touch()
    with lock.open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: looking.close())
        with holding(lock) as mine:
            assert mine


def test_a_lock_that_is_held_is_not_taken(tmp_path: Path) -> None:
    lock = tmp_path / "supervisor.lock"
    with holding(lock) as mine, holding(lock) as again:
        assert (mine, again, is_held(lock)) == (True, False, True)
    assert not is_held(lock)
