"""A run goes on by itself after a failure that another attempt can help against, and only then."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Diagnosed, Liveness, RunStage, Starting, Stopper, StopRequested
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import TrainingEnded, TrainingStarted
from holdfast.engine.recover.policy import decide
from holdfast.engine.run.drive import Dependencies, drive
from holdfast.engine.run.supervise import Limits
from holdfast.ports import Order
from tests.engine.run.test_supervise import dependencies
from tests.helpers.fakes import FakeBackend, FakeOrders, FakeStore, Look

PREEMPTED = Diagnosed(at_s=0, attempt=0, name="job-preempted-or-requeued", title="taken", retry="yes", confidence=0.9)
"""A cause that is gone when the job starts again."""


JOB = {"method": "sft", "model": "me/model", "dataset": "me/rows"}


def attempt(*steps: int, exit_code: int = 1) -> list[Look]:
    """Return what is seen of an attempt that does some steps and then fails, or succeeds with exit code 0."""
    status = {"event": "end", "status": "failed" if exit_code else "finished"}
    reports = [{"event": "step", "step": step, "max_steps": 9} for step in steps]
    return [
        Look(answer=Liveness.ALIVE, reports=reports),
        Look(answer=Liveness.ENDED, exit_code=exit_code, reports=[status]),
    ]


def play(
    looks: Sequence[Look], causes: Sequence[Diagnosed], attempts: int, orders: FakeOrders | None = None
) -> tuple[FakeStore, RunStage]:
    """Drive a run through what is seen of it, with the cause of each failure."""
    store, left = FakeStore(), list(causes)

    def diagnose(number: int, now_s: float) -> Diagnosed:
        return replace(left.pop(0), attempt=number, at_s=now_s)

    given: Dependencies = replace(dependencies(FakeBackend(list(looks)), store, orders), diagnose=diagnose)
    return store, drive("r", Limits(attempts=attempts), given).stage


def starts(store: FakeStore) -> list[str | None]:
    """Return where each attempt began."""
    return [event.resume_from for _, event in store.rows if isinstance(event, Starting)]


@pytest.mark.parametrize(
    ("name", "pause_s"),
    [("job-preempted-or-requeued", 0.0), ("training-stalled", 0.0), ("hub-download-transient", 30.0)],
)
def test_a_failure_that_passes_is_followed_by_another_attempt(name: str, pause_s: float) -> None:
    """From the newest checkpoint; after a pause, if something has to recover meanwhile."""
    cause = replace(PREEMPTED, name=name)
    store, stage = play([*attempt(1, 2), *attempt(3, 4), *attempt(5, 9, exit_code=0)], [cause, cause], attempts=3)
    pauses = [event.next_s for _, event in store.rows if isinstance(event, Diagnosed)]
    begun_s = [event.at_s for _, event in store.rows if isinstance(event, Starting)]

    assert (stage, starts(store)) == (RunStage.SUCCEEDED, [None, "c", "c"])
    assert pauses == [pause_s, pause_s]
    assert begun_s[1] - begun_s[0] >= pause_s
    assert begun_s[2] - begun_s[1] >= pause_s


@pytest.mark.parametrize(
    ("cause", "attempts"),
    [
        (replace(PREEMPTED, retry="after-change"), 3),
        (replace(PREEMPTED, retry="no"), 3),
        (replace(PREEMPTED, confidence=0.7), 3),
        (replace(PREEMPTED, name="job-cancelled-externally"), 3),
        (replace(PREEMPTED, name="killed-by-sighup"), 3),
        (Diagnosed(at_s=0, attempt=0), 3),
        (PREEMPTED, 1),
    ],
)
def test_what_another_attempt_does_not_help_against_ends_the_run(cause: Diagnosed, attempts: int) -> None:
    """Nor is money spent again for a guess, or against a person's will."""
    store, stage = play(attempt(1, 2), [cause], attempts)

    assert (stage, starts(store)) == (RunStage.FAILED, [None])


@pytest.mark.parametrize(("steps", "follows"), [(7, True), (4, False)])
def test_a_network_that_fails_amid_training_is_tried_again(steps: int, *, follows: bool) -> None:
    """A node that reached nothing from the beginning does not reach it in another attempt."""
    failed = AttemptState(
        number=1, backend="local", started_s=0, stage=RunStage.FAILED, steps=steps, started=TrainingStarted(step=4)
    )
    cause = replace(PREEMPTED, name="no-network-on-node", retry="after-change")

    assert (decide(cause, RunState(attempts=(failed,)), 3, plan=None)[0].next_s is not None) == follows


def test_a_training_whose_time_was_over_without_a_supervisor_is_not_started_again() -> None:
    """It ended at the limit that a person set."""
    end = TrainingEnded(
        status="stopped", reason="timeout", because="its time limit was over while nobody supervised it"
    )
    ended = AttemptState(number=1, backend="local", started_s=0, stage=RunStage.CANCELLED, end=end)
    cause = replace(PREEMPTED, name="job-time-limit")

    assert decide(cause, RunState(attempts=(ended,)), 3, plan=None) == (cause,)


@pytest.mark.parametrize(
    ("backend", "name", "follows"),
    [
        ("hf-jobs", "job-preempted-or-requeued", True),
        ("local", "job-preempted-or-requeued", False),
        ("local", "hub-download-transient", True),
    ],
)
def test_a_signal_on_this_machine_is_a_persons(backend: str, name: str, follows: bool) -> None:
    """No scheduler sends one here; what fails by itself is tried again here too."""
    failed = AttemptState(number=1, backend=backend, started_s=0, stage=RunStage.FAILED, steps=2)
    cause = decide(replace(PREEMPTED, name=name), RunState(attempts=(failed,)), 3, plan=None)[0]

    assert (cause.next_s is not None) == follows


@pytest.mark.parametrize(
    ("allow", "end", "code", "follows"),
    [
        (["killed"], None, -9, True),
        (["killed"], "SIGTERM", 143, True),
        (["killed"], "SIGINT", 130, False),
        (["batch_size"], None, -9, False),
    ],
)
def test_a_job_may_say_that_signals_on_this_machine_are_nobodys(
    allow: list[str], end: str | None, code: int, follows: bool
) -> None:
    """Then a preempted or killed training goes on; Ctrl-C stays a person's."""
    plan = Plan(name="a", script="", script_name="a.py", cwd="/", job={**JOB, "recover": {"allow": allow}})
    failed = AttemptState(
        number=1,
        backend="local",
        started_s=0,
        stage=RunStage.FAILED,
        steps=2,
        exit_code=code,
        end=TrainingEnded(status="stopped", because=end) if end else None,
    )
    cause = decide(replace(PREEMPTED, confidence=0.6), RunState(attempts=(failed,)), 3, plan)[0]

    assert (cause.next_s is not None) == follows
    assert ("`recover.allow: [killed]`" in cause.stops) == (allow == ["batch_size"])


@pytest.mark.parametrize("reached", [[], [1], [2]])
def test_two_attempts_that_came_no_further_are_the_last(reached: list[int]) -> None:
    """Unless their machine was taken away, which says nothing of the job."""
    looks = [*attempt(1, 2), *attempt(*reached), *attempt(*reached), *attempt(9, exit_code=0)]
    store, stage = play(looks, [replace(PREEMPTED, name="hub-download-transient")] * 3, attempts=9)
    assert (stage, len(starts(store))) == (RunStage.FAILED, 3)

    store, stage = play(looks, [PREEMPTED] * 3, attempts=9)
    assert (stage, len(starts(store))) == (RunStage.SUCCEEDED, 4)


@pytest.mark.parametrize(
    ("steps", "pause_s", "at_once"),
    [
        ([5], 30, True),
        ([5, 9, 12, 20], 30, True),
        ([0], 30, False),
        ([5, 5], 60, False),
        ([5, 9, 3], 60, False),
        ([0, 0, 0], 120, False),
    ],
)
def test_the_pause_grows_only_while_attempts_get_no_further(steps: list[int], pause_s: float, *, at_once: bool) -> None:
    """A training that advances between two lost machines loses no time; what fails without progress is tried ever more slowly."""
    attempts = tuple(
        AttemptState(number=number, backend="fake", started_s=0, stage=RunStage.FAILED, steps=each)
        for number, each in enumerate(steps, start=1)
    )
    transient = replace(PREEMPTED, name="hub-upload-transient")
    pauses = [decide(cause, RunState(attempts=attempts), 99, plan=None)[0].next_s for cause in (transient, PREEMPTED)]
    assert pauses == ([pause_s, 0] if at_once else [None if pause_s == 120 else pause_s, pause_s])


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_there_are_no_more_attempts_than_were_allowed(attempts: int) -> None:
    """However far each comes."""
    looks = [look for number in range(6) for look in attempt(number + 1)]
    store, stage = play(looks, [PREEMPTED] * 6, attempts)

    assert (stage, len(starts(store))) == (RunStage.FAILED, attempts)


def test_attempts_that_follow_by_themselves_share_one_timeout() -> None:
    """What the job may cost does not grow with the number of its attempts. Each process knows what is left, if its supervisor is gone."""
    store, leases = FakeStore(), list[str]()

    class Submitted(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            timed = replace(attempt, plan=replace(attempt.plan, timeout_s=15.0))
            leases.append(timed.variables()["HOLDFAST_TIMEOUT"])
            return super().submit(attempt)

    def diagnose(number: int, now_s: float) -> Diagnosed:
        return replace(PREEMPTED, attempt=number, at_s=now_s)

    first, ended = attempt(*range(1, 9))
    alive = Look(answer=Liveness.ALIVE)
    backend = Submitted([first, *[alive] * 20, ended, *[alive] * 60])
    given = replace(dependencies(backend, store), diagnose=diagnose)
    state = drive("r", Limits(attempts=3, timeout_s=15.0), given)
    (stop,) = (event for _, event in store.rows if isinstance(event, StopRequested))

    assert (stop.by, len(state.attempts)) == (Stopper.TIMEOUT, 2)
    assert 4.0 < stop.at_s - state.attempts[1].running_s < 5.0
    assert leases[0] == "15.0"
    assert 3.5 < float(leases[1]) < 5.0


@pytest.mark.parametrize("order", ["stop", "kill"])
def test_a_run_can_be_stopped_in_the_pause(order: Order) -> None:
    """Then no attempt follows, and the run counts as cancelled."""
    store, stage = play(
        attempt(1, 2), [replace(PREEMPTED, name="hub-upload-transient")], 3, FakeOrders(None, None, order)
    )

    assert (stage, len(starts(store))) == (RunStage.CANCELLED, 1)
    assert [event.by for _, event in store.rows if isinstance(event, StopRequested)] == [Stopper.PERSON]


def test_a_supervisor_that_left_in_the_pause_is_followed_by_one_that_goes_on() -> None:
    """The person detached: the next supervisor starts the attempt that was due, once."""
    store, stage = play(attempt(1, 2), [PREEMPTED], 3, FakeOrders(None, None, "detach"))
    assert not stage.ended
    backend = FakeBackend(attempt(9, exit_code=0))
    state = drive("r", Limits(attempts=3), dependencies(backend, store))

    assert (state.stage, starts(store)) == (RunStage.SUCCEEDED, [None, "c"])


def test_a_run_that_was_stopped_is_not_diagnosed() -> None:
    """A person's stop stays a stop."""
    store, stage = play(attempt(1, 2), [], 3, FakeOrders(None, "stop"))

    assert (stage, len(starts(store))) == (RunStage.CANCELLED, 1)
