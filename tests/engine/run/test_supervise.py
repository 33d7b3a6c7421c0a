"""The supervisor decides rightly: tested with events alone, no clock, no process, no network."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.fakes import PLAN, FakeBackend, FakeClock, FakeOrders, FakeStore

from holdfast.core.errors import BackendError
from holdfast.core.event import (
    Closed,
    Delivered,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunState,
    Stage,
    Started,
    Starting,
    Stopper,
    StopRequested,
    event_from_json,
    event_to_json,
    fold,
)
from holdfast.core.plan import Attempt
from holdfast.engine.run.delivery import Delivery
from holdfast.engine.run.supervise import (
    Close,
    Dependencies,
    Flow,
    Kill,
    Limits,
    Poll,
    Start,
    Stop,
    TakeStacks,
    drive,
    supervise,
)
from holdfast.ports import PollResult

ASKED = RunRequested(at_s=0, folder="/runs/r")
STARTED = (Starting(at_s=1, attempt=1, backend="fake"), Started(at_s=2, attempt=1, id="r/1"))


def polled(answer: Liveness, at_s: float = 3, exit_code: int | None = None, attempt: int = 1) -> Polled:
    return Polled(at_s=at_s, attempt=attempt, answer=answer, exit_code=exit_code)


def said(event: str, attempt: int = 1, **fields: object) -> Reported:
    return Reported(at_s=3, attempt=attempt, said={"event": event, **fields})


def running(limits: Limits = Limits()) -> Flow:  # noqa: B008 - frozen
    flow = supervise(fold([ASKED]), limits)
    assert next(flow) == Start(1, resume=False)
    assert flow.send(STARTED) == Poll(limits.poll_s)
    return flow


def closing(flow: Flow, *events: Event) -> Close:
    action = flow.send(events)
    assert isinstance(action, Close)
    return action


def test_a_finished_attempt_makes_a_run_succeed() -> None:
    """Exit code 0 and the trainer's own word that it finished."""
    end = closing(running(), said("end", status="finished", step=9, max_steps=9), polled(Liveness.ENDED, exit_code=0))

    assert end == Close(Stage.SUCCEEDED, "")


def test_exit_code_0_alone_is_no_success() -> None:
    """A process that left with 0 at step 4 of 9 has failed."""
    end = closing(running(), said("step", step=4, max_steps=9), polled(Liveness.ENDED, exit_code=0))

    assert end == Close(Stage.FAILED, "exit code 0 at step 4 of 9")


@pytest.mark.parametrize(
    ("exit_code", "because"),
    [(1, "exit code 1 before its first reported step"), (-9, "SIGKILL killed it before its first reported step")],
)
def test_a_failure_is_named(exit_code: int, because: str) -> None:
    """The verdict says the code or the signal."""
    assert closing(running(), polled(Liveness.ENDED, exit_code=exit_code)) == Close(Stage.FAILED, because)


def test_an_unknown_answer_never_ends_anything() -> None:
    """A backend that cannot be asked for a week changes nothing."""
    flow = running()

    for hour in range(24 * 7):
        assert isinstance(flow.send([polled(Liveness.UNKNOWN, at_s=3600.0 * hour)]), Poll)


def test_silence_never_ends_anything() -> None:
    """A job that is alive and says nothing is left alone."""
    flow = running()

    for hour in range(24):
        assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=3600.0 * hour)]), Poll)


def test_the_timeout_stops_and_then_kills() -> None:
    """At the timeout the attempt is asked to save; only after the grace time must it say where it hangs, and die."""
    flow = running(Limits(timeout_s=100, grace_s=50))

    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=101)]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=102)]) == Stop(Stopper.TIMEOUT)
    assert isinstance(flow.send([StopRequested(at_s=102, by=Stopper.TIMEOUT)]), Poll)
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=152)]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=153)]) == TakeStacks()
    assert isinstance(flow.send([]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=154)]) == Kill()
    assert isinstance(flow.send([]), Poll)
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=999)]), Poll)
    assert closing(flow, polled(Liveness.ENDED, exit_code=-9)) == Close(
        Stage.FAILED, "stopped by the timeout before its first reported step"
    )


def test_a_stop_from_another_terminal_makes_the_run_cancelled() -> None:
    """A stop that somebody else wrote into the ledger is heard, and not signalled a second time."""
    flow = running()

    assert isinstance(flow.send([StopRequested(at_s=3, by=Stopper.PERSON), polled(Liveness.ALIVE)]), Poll)
    end = closing(flow, said("end", status="stopped", step=4, max_steps=9), polled(Liveness.ENDED, exit_code=143))
    assert end == Close(Stage.CANCELLED, "stopped by a person at step 4 of 9")


def test_a_job_that_finished_before_it_heard_the_stop_succeeded() -> None:
    """What is done is done."""
    flow = running()
    flow.send([StopRequested(at_s=3, by=Stopper.PERSON)])

    assert closing(flow, said("end", status="finished"), polled(Liveness.ENDED, exit_code=0)).stage is Stage.SUCCEEDED


@pytest.mark.parametrize("exit_code", [143, -15, -9])
def test_a_stop_after_the_last_line_of_the_script_changes_nothing(exit_code: int) -> None:
    """The model is whole, and the process is only leaving; a crash of it is a failure still."""
    flow = running()
    flow.send([StopRequested(at_s=3, by=Stopper.PERSON)])
    finished = said("end", status="finished", step=9, max_steps=9)

    assert closing(flow, finished, polled(Liveness.ENDED, exit_code=exit_code)) == Close(Stage.SUCCEEDED, "")
    assert closing(running(), finished, polled(Liveness.ENDED, exit_code=-11)).stage is Stage.FAILED


def test_a_supervisor_killed_between_intent_and_start_hands_over_the_same_attempt() -> None:
    """The ledger says `starting` and not `started`: the same number goes to the backend again, which starts it once."""
    flow = supervise(fold([ASKED, STARTED[0]]), Limits())

    assert next(flow) == Start(1, resume=False)


def test_a_supervisor_killed_while_the_attempt_ran_looks_again() -> None:
    """Nothing is started twice."""
    assert isinstance(next(supervise(fold([ASKED, *STARTED]), Limits())), Poll)


@pytest.mark.parametrize("exit_code", [None, -9])
def test_an_attempt_killed_together_with_its_supervisor_is_continued_at_once(exit_code: int | None) -> None:
    """One `resume` suffices: it finds the attempt dead and starts the next."""
    flow = supervise(fold([ASKED, *STARTED, said("step", step=4, max_steps=9)]), Limits())
    assert isinstance(next(flow), Poll)

    assert flow.send([polled(Liveness.ENDED, exit_code=exit_code)]) == Start(2, resume=True)


@pytest.mark.parametrize(
    ("told", "exit_code", "stage"),
    [
        ([said("end", status="finished")], 0, Stage.SUCCEEDED),
        ([said("end", status="failed", because="KeyError: 'a'")], 1, Stage.FAILED),
        ([StopRequested(at_s=3, by=Stopper.PERSON)], -9, Stage.CANCELLED),
    ],
)
def test_an_attempt_that_ended_by_itself_meanwhile_is_judged(told: list[Event], exit_code: int, stage: Stage) -> None:
    """It succeeded, raised an error or was asked to stop: nothing is started."""
    flow = supervise(fold([ASKED, *STARTED]), Limits())
    next(flow)

    assert closing(flow, *told, polled(Liveness.ENDED, exit_code=exit_code)).stage is stage


def test_an_attempt_killed_under_its_supervisor_is_judged() -> None:
    """A job that is killed again and again is not started again and again."""
    assert closing(running(), polled(Liveness.ENDED, exit_code=-9)).stage is Stage.FAILED


def test_a_supervisor_killed_before_its_verdict_gives_it_now() -> None:
    """The attempt's end is in the ledger, the verdict is not: a person who resumes gets another attempt."""
    state = fold([ASKED, *STARTED, polled(Liveness.ENDED, exit_code=1)])

    assert next(supervise(state, Limits())) == Start(2, resume=True)


def test_a_resumed_run_forgets_the_old_stop() -> None:
    """The new attempt is not taken for cancelled."""
    state = fold([ASKED, *STARTED, StopRequested(at_s=3, by=Stopper.PERSON), polled(Liveness.ENDED, exit_code=143)])
    flow = supervise(state, Limits())
    next(flow)
    flow.send([Starting(at_s=5, attempt=2, backend="fake"), Started(at_s=6, attempt=2, id="r/2")])

    end = closing(flow, said("end", attempt=2, status="finished"), polled(Liveness.ENDED, exit_code=0, attempt=2))
    assert end.stage is Stage.SUCCEEDED


def doors(backend: FakeBackend, store: FakeStore, orders: FakeOrders | None = None) -> Dependencies:
    def prepare(number: int, resume: bool) -> Attempt:
        return Attempt(run="r", number=number, folder="/f", plan=PLAN, resume_from="c" if resume else None)

    def ignore(_state: RunState, _events: Sequence[Event]) -> None:
        pass

    return Dependencies(
        store=store,
        backend=backend,
        clock=FakeClock(),
        prepare=prepare,
        verify=lambda repository, _: Delivery("arrived" if repository == "me/kept" else "missing", "it is not there"),
        orders=orders or FakeOrders(),
        observe=ignore,
    )


@pytest.mark.parametrize(("repository", "stage"), [("me/kept", Stage.SUCCEEDED), ("me/lost", Stage.FAILED)])
def test_a_run_is_no_success_before_its_push_has_arrived(repository: str, stage: Stage) -> None:
    """The training process said that it pushes, twice, and ended well; once is looked."""
    push, end = {"event": "push", "repository": repository, "folder": "/f"}, {"event": "end", "status": "finished"}
    backend = FakeBackend([PollResult(answer=Liveness.ENDED, exit_code=0, reports=[push, push, end])])
    store = FakeStore()

    state = drive("r", Limits(), doors(backend, store))

    assert state.stage is stage
    assert [event.repository for _, event in store.rows if isinstance(event, Delivered)] == [repository]
    assert ("it is not there" in state.because) == (stage is Stage.FAILED)


def test_a_push_that_came_after_is_looked_for_again() -> None:
    """What was found before it says nothing of it."""
    push = said("push", repository="me/model")
    found = Delivered(at_s=4, repository="me/model", verdict="arrived")

    assert fold([ASKED, *STARTED, push, found]).deliveries == {"me/model": found}
    assert fold([ASKED, *STARTED, push, found, push]).deliveries == {}


def test_the_loop_writes_before_it_acts() -> None:
    """When the backend is handed the attempt, the ledger already says that it will be."""
    store = FakeStore()

    class Witness(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            assert isinstance(store.rows[-1][1], Starting)
            return super().submit(attempt)

    state = drive("r", Limits(), doors(Witness(), store))

    assert state.stage is Stage.SUCCEEDED
    assert [type(event).__name__ for _, event in store.rows] == ["Starting", "Started", "Reported", "Polled", "Closed"]
    assert fold(event for _, event in store.rows) == replace(state)


def test_looks_that_say_nothing_new_are_not_kept() -> None:
    """A long quiet run does not fill the ledger."""
    store = FakeStore()
    drive("r", Limits(), doors(FakeBackend([PollResult(answer=Liveness.ALIVE)] * 500), store))

    assert len(store.rows) == 6


def test_detaching_leaves_the_attempt_alone() -> None:
    """The supervisor goes, the attempt stays, and the ledger says that it runs."""
    store, backend = FakeStore(), FakeBackend([PollResult(answer=Liveness.ALIVE)] * 9)
    state = drive("r", Limits(), doors(backend, store, FakeOrders(None, "detach")))

    assert (state.stage, backend.stopped, backend.killed) == (Stage.RUNNING, [], [])
    assert not any(isinstance(event, Closed) for _, event in store.rows)


def test_an_order_to_stop_is_written_and_passed_on_once() -> None:
    """Ctrl-C twice sends one SIGTERM: a second would make the runtime leave without saving."""
    store, backend = FakeStore(), FakeBackend([PollResult(answer=Liveness.ALIVE)] * 3)
    state = drive("r", Limits(), doors(backend, store, FakeOrders("stop", "stop")))

    assert backend.stopped == ["r/1"]
    assert sum(isinstance(event, StopRequested) for _, event in store.rows) == 1
    assert state.stage.ended


def test_a_refusing_backend_fails_the_run_with_its_reason() -> None:
    """The run is in the ledger as what it was."""

    class Refusing(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            raise BackendError("no such partition", where=attempt.id, fix="name another")

    state = drive("r", Limits(), doors(Refusing(), FakeStore()))

    assert (state.stage, state.because) == (Stage.FAILED, "no such partition")


EVENTS = st.lists(
    st.one_of(
        st.just(ASKED),
        st.builds(Starting, at_s=st.floats(0, 9), attempt=st.integers(1, 3), backend=st.just("fake")),
        st.builds(Started, at_s=st.floats(0, 9), attempt=st.integers(1, 3), id=st.text()),
        st.builds(
            polled, st.sampled_from(Liveness), st.floats(0, 9), st.none() | st.integers(-15, 3), st.integers(1, 3)
        ),
        st.builds(StopRequested, at_s=st.floats(0, 9), by=st.sampled_from([Stopper.PERSON, Stopper.TIMEOUT])),
        st.builds(
            Reported,
            at_s=st.floats(0, 9),
            attempt=st.integers(1, 3),
            said=st.dictionaries(st.sampled_from(["event", "step", "loss"]), st.integers(0, 9)),
        ),
        st.builds(Closed, at_s=st.floats(0, 9), stage=st.sampled_from(Stage)),
    ),
    max_size=12,
)


@given(EVENTS, st.integers(0, 12))
def test_folding_in_two_parts_gives_the_same_state(events: list[Event], cut: int) -> None:
    """A supervisor that was killed anywhere knows what it knew."""
    assert fold(events[cut:], fold(events[:cut])) == fold(events)


@given(EVENTS)
def test_events_survive_json(events: list[Event]) -> None:
    """What the ledger gives back is what it was given."""
    assert [event_from_json(*event_to_json(event)) for event in events] == events
