"""Runs whose machines fail again and again end well, and little time is lost beside what checkpoints cost: a small part of `benchmarks.goodput`."""

from benchmarks.goodput import Costs, simulate
from holdfast.core.run.event import RunStage


def test_failures_cost_detection_and_a_short_pause_each() -> None:
    """However many there are: pauses do not grow while a run advances, and no run is given up."""
    costs = Costs.best(save_s=5.0, start_s=60.0, mtbf_s=3600.0)
    done = simulate(6, costs, hours=6.0, mtbf_hours=1.0, poll_s=20.0)
    without_hang = [each for each in done if not any(attempt.troubles for attempt in each.state.attempts)]
    lost_s = [(each.now_s - each.ideal_s) / (each.attempts - 1) for each in without_hang]

    assert {each.stage for each in done} == {RunStage.SUCCEEDED}
    assert max(each.attempts for each in done) > 5
    assert 10 < max(lost_s) < 60
