"""A run costs no more than its budget, all attempts together; by the prices of what each of them ran on."""

from dataclasses import replace

import pytest

from holdfast.app.run.costs import budget_of
from holdfast.core.run.event import (
    Event,
    Liveness,
    Polled,
    Remedied,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
)
from holdfast.core.run.plan import Plan
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.core.run.run_state import fold
from holdfast.engine.run.actions import FindCause, Poll, Start, Stop
from holdfast.engine.run.spending import Budget, Prices, is_used_up, ran_s, spent_usd
from holdfast.engine.run.supervise import Limits, supervise
from holdfast.engine.run.verdict import verdict
from tests.engine.run.test_supervise import ASKED

PLAN = Plan(name="a", script="", script_name="a.py", cwd="/", backend="hf-jobs", hardware="small", budget_usd=5.0)
PRICES = Prices("small", {"small": 1.0, "large": 4.0})
BUDGET = Budget(5.0, PRICES)
HOUR_S = 3600.0


def begun(number: int, at_s: float) -> list[Event]:
    return [Starting(at_s=at_s, attempt=number, backend="hf-jobs"), Started(at_s=at_s, attempt=number, id=f"j{number}")]


def look(number: int, at_s: float, exit_code: int | None = None, *, waiting: bool = False) -> Polled:
    answer = Liveness.ALIVE if exit_code is None else Liveness.ENDED
    return Polled(at_s=at_s, attempt=number, answer=answer, exit_code=exit_code, waiting=waiting)


def test_each_attempt_costs_what_its_hardware_costs_while_it_runs() -> None:
    """Neither the time in a queue costs anything, nor that between two attempts."""
    larger = AppliedRemedy(because="", changes=(SettingChange(key="where.hardware", before="small", after="large"),))
    first = [*begun(1, 0.0), look(1, 9.0, waiting=True), look(1, HOUR_S), look(1, 3 * HOUR_S, 1)]
    second = [*begun(2, 10 * HOUR_S), look(2, 10.5 * HOUR_S)]
    changed = Remedied(at_s=3 * HOUR_S, attempt=1, cause="cuda-oom-train-step", remedy=larger)

    assert spent_usd(fold([ASKED, *first]), PRICES) == pytest.approx(2.0)
    assert spent_usd(fold([ASKED, *first, *second]), PRICES) == pytest.approx(2.5)
    assert spent_usd(fold([ASKED, *first, changed, *second]), PRICES) == pytest.approx(4.0)
    assert not is_used_up(fold([ASKED, *first, changed, *second]), None)


def test_the_seconds_of_a_run_are_those_of_its_attempts() -> None:
    """Without the time in a queue, and that between two attempts."""
    first = [*begun(1, 0.0), look(1, 9.0, waiting=True), look(1, 600.0), look(1, 900.0, 1)]
    second = [*begun(2, 5000.0), look(2, 5007.0)]

    assert ran_s(fold([ASKED]), 9000.0) == 0.0
    assert ran_s(fold([ASKED, *begun(1, 0.0), look(1, 9.0, waiting=True)]), 500.0) == 0.0
    assert ran_s(fold([ASKED, *first]), 9000.0) == pytest.approx(300.0)
    assert ran_s(fold([ASKED, *first, *second]), 5012.0) == pytest.approx(312.0)


def test_an_attempt_is_stopped_when_the_budget_is_used_up() -> None:
    """It saves first; nobody asked for another one."""
    limits = Limits(attempts=3, budget=BUDGET)
    flow = supervise(fold([ASKED]), limits)
    assert next(flow) == Start(1, resume=False)
    assert isinstance(flow.send(begun(1, 0.0)), Poll)
    assert isinstance(flow.send([look(1, 4.9 * HOUR_S)]), Poll)

    assert flow.send([look(1, 5 * HOUR_S)]) == Stop(Stopper.BUDGET)
    ended = fold([ASKED, *begun(1, 0.0), StopRequested(at_s=5 * HOUR_S, by=Stopper.BUDGET), look(1, 5 * HOUR_S, 143)])
    assert verdict(ended, stall_limit_s=None) == (
        RunStage.FAILED,
        "stopped by the budget before its first reported step",
    )


def test_no_attempt_follows_for_which_there_is_no_money() -> None:
    """The cause of the failure is looked for all the same."""
    flow = supervise(fold([ASKED, *begun(1, 0.0)]), Limits(attempts=3, budget=BUDGET))
    next(flow)

    assert flow.send([look(1, 6 * HOUR_S, 1)]) == FindCause(0)


def test_a_budget_counts_where_hardware_has_a_price() -> None:
    """On this machine it has none, which JOB103 says."""
    priced = replace(PLAN, hardware="a10g-large")
    found = budget_of(priced)

    assert found is not None
    assert found.prices.usd_per_hour["a10g-large"] > 0
    assert budget_of(PLAN) is None
    assert budget_of(replace(priced, backend="local")) is None
    assert budget_of(replace(priced, budget_usd=None)) is None
