"""The clock of a supervisor."""

import time

import pytest

from holdfast.adapters.clock import SystemClock


@pytest.mark.parametrize("jump_s", [-172_800.0, 172_800.0])
def test_a_clock_that_is_set_anew_ends_no_healthy_run(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    """The wall clock may jump by two days; the time since the supervisor began does not."""
    clock = SystemClock()
    before_s, wall = clock.now_s(), time.time
    monkeypatch.setattr(time, "time", lambda: wall() + jump_s)

    assert 0 <= clock.now_s() - before_s < abs(jump_s) / 2
    assert abs(SystemClock().now_s() - before_s - jump_s) < abs(jump_s) / 2
