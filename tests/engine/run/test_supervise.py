"""The supervisor decides rightly: tested with events alone, no clock, no process, no network."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import BackendError, LedgerError, UnreachableError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import BackendCapabilities
from holdfast.core.run.event import (
    Closed,
    Delivered,
    Diagnosed,
    Event,
    Liveness,
    ModelEvaluated,
    ModelExported,
    Polled,
    Reported,
    ReportsLost,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.event_json import event_from_json, event_to_json
from holdfast.core.run.plan import Attempt
from holdfast.core.run.remedy import SettingChange
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.trouble import Trouble, TroubleKind
from holdfast.engine.run.actions import (
    Action,
    Close,
    EvaluateModel,
    ExportModel,
    FindCause,
    Kill,
    Note,
    Poll,
    Start,
    Stop,
    TakeStacks,
)
from holdfast.engine.run.delivery import Delivery
from holdfast.engine.run.drive import DRAINING, Dependencies, _Loop, drive
from holdfast.engine.run.supervise import Flow, Limits, supervise
from holdfast.engine.run.verdict import verdict
from holdfast.engine.run.watch import watch_run
from holdfast.ports import Order, OutputNews, PollResult
from tests.helpers.fakes import PLAN, FakeBackend, FakeClock, FakeOrders, FakeStore, Look

ASKED = RunRequested(at_s=0.0, folder="/runs/r")
STARTED = (Starting(at_s=1.0, attempt=1, backend="fake"), Started(at_s=2.0, attempt=1, id="r/1"))


def polled(answer: Liveness, at_s: float = 3.0, exit_code: int | None = None, attempt: int = 1) -> Polled:
    return Polled(at_s=at_s, attempt=attempt, answer=answer, exit_code=exit_code)


def said(event: str, attempt: int = 1, **fields: object) -> Reported:
    return Reported(at_s=3.0, attempt=attempt, said={"event": event, **fields})


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

    assert end == Close(RunStage.SUCCEEDED, "")


def test_a_stop_that_arrives_while_the_backend_starts_the_attempt_is_sent() -> None:
    """`holdfast stop` has no id to signal then, so the supervisor does it."""
    flow = supervise(fold([ASKED]), Limits())
    assert next(flow) == Start(1, resume=False)

    starting, started = STARTED

    assert flow.send([starting, StopRequested(at_s=1.5, by=Stopper.PERSON), started]) == Stop(Stopper.PERSON)


def test_a_stop_is_not_sent_to_an_attempt_that_could_not_be_started() -> None:
    """There is nothing to signal."""
    flow = supervise(fold([ASKED]), Limits())
    next(flow)
    refused = Polled(at_s=2.0, attempt=1, answer=Liveness.ENDED, because="no such interpreter")

    assert isinstance(closing(flow, STARTED[0], StopRequested(at_s=1.5, by=Stopper.PERSON), refused), Close)


def test_exit_code_0_alone_is_no_success() -> None:
    """A process that left with 0 at step 4 of 9 has failed."""
    end = closing(running(), said("step", step=4, max_steps=9), polled(Liveness.ENDED, exit_code=0))

    assert end == Close(RunStage.FAILED, "exit code 0 at step 4 of 9")


@pytest.mark.parametrize(
    ("exit_code", "because"),
    [
        (1, "exit code 1 before its first reported step"),
        (-9, "SIGKILL killed it before its first reported step"),
        (-35, "signal 35 killed it before its first reported step"),
        (-200, "signal 200 killed it before its first reported step"),
    ],
)
def test_a_failure_is_named(exit_code: int, because: str) -> None:
    """The verdict says the code or the signal."""
    assert closing(running(), polled(Liveness.ENDED, exit_code=exit_code)) == Close(RunStage.FAILED, because)


STEPPED = said("step", step=4, max_steps=9)


@pytest.mark.parametrize(
    ("told", "exit_code", "because"),
    [
        (
            [STEPPED, said("end", status="stopped", because="SIGTERM")],
            143,
            "SIGTERM, which holdfast did not send, stopped it at step 4 of 9",
        ),
        (
            [said("end", status="stopped")],
            143,
            "a signal, which holdfast did not send, stopped it before its first reported step",
        ),
        ([STEPPED, said("end", status="failed", because="KeyError: 'a'")], 1, "KeyError: 'a' (at step 4 of 9)"),
        ([said("end", status="failed", because="KeyError: 'a'")], 1, "KeyError: 'a'"),
        ([said("end", status="failed")], 1, "it raised an error"),
        ([STEPPED], None, "it disappeared at step 4 of 9; its exit code is unknown"),
        ([STEPPED], -9, "SIGKILL killed it at step 4 of 9"),
    ],
)
def test_the_verdict_says_what_ended_the_job_and_how_far_it_was(
    told: list[Event], exit_code: int | None, because: str
) -> None:
    """In the words of the training process where it left any, else by its exit code."""
    assert closing(running(), *told, polled(Liveness.ENDED, exit_code=exit_code)) == Close(RunStage.FAILED, because)


def test_a_run_whose_start_came_to_nothing_is_said_never_to_have_started() -> None:
    """Nothing is in the ledger that an attempt could have left."""
    flow = supervise(fold([ASKED]), Limits())
    next(flow)

    assert closing(flow) == Close(RunStage.FAILED, "it was never started")


def test_every_push_that_is_lost_is_named() -> None:
    """Of two repositories, not the first alone."""
    lost = (
        Delivered(at_s=4, repository=name, verdict="missing", because=f"{name} is empty") for name in ("a/b", "c/d")
    )
    state = fold([ASKED, *STARTED, said("end", status="finished"), polled(Liveness.ENDED, exit_code=0), *lost])

    assert verdict(state, stall_limit_s=None) == (
        RunStage.FAILED,
        "training reached its end, but a/b is empty; c/d is empty",
    )


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
    assert closing(flow, polled(Liveness.ENDED, at_s=1000, exit_code=-9)) == Close(
        RunStage.FAILED, "stopped by the timeout before its first reported step; it did not end, and was killed"
    )


@pytest.mark.parametrize("left_s", [7.0, 40.0])
def test_another_supervisor_leaves_an_attempt_what_was_left_of_the_timeout(left_s: float) -> None:
    """Whether the attempt runs, or has still to be submitted again."""
    first: list[Event] = [*STARTED, polled(Liveness.ENDED, exit_code=1)]
    second = Starting(at_s=100, attempt=2, backend="fake", timeout_s=left_s)
    started = Started(at_s=100, attempt=2, id="r/2")
    flow = supervise(fold([ASKED, *first, second, started]), Limits(timeout_s=1000, attempts=3))
    assert isinstance(next(flow), Poll)
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=99.0 + left_s, attempt=2)]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=101.0 + left_s, attempt=2)]) == Stop(Stopper.TIMEOUT)

    failed = polled(Liveness.ENDED, at_s=100.0 + left_s / 2, exit_code=1, attempt=2)
    flow = supervise(fold([ASKED, *first, second, started]), Limits(timeout_s=1000, attempts=3))
    next(flow)
    assert flow.send([failed]) == FindCause(3)
    flow.send([Diagnosed(at_s=100.0 + left_s / 2, attempt=2, name="a", next_s=0.0)])

    again = next(supervise(fold([ASKED, *first, second]), Limits(timeout_s=1000, attempts=3)))
    assert again == Start(2, resume=True, timeout_s=left_s)


def test_a_job_that_ends_while_its_timeout_passes_is_judged_and_not_stopped() -> None:
    """There is nothing left to stop: the backend may know the attempt no longer."""
    flow = running(Limits(timeout_s=100))

    end = closing(flow, said("end", status="finished"), polled(Liveness.ENDED, at_s=102, exit_code=0))
    assert end == Close(RunStage.SUCCEEDED, "")


def test_a_stop_from_another_terminal_makes_the_run_cancelled() -> None:
    """A stop that somebody else wrote into the ledger is heard, and not signalled a second time."""
    flow = running()

    assert isinstance(flow.send([StopRequested(at_s=3, by=Stopper.PERSON), polled(Liveness.ALIVE)]), Poll)
    end = closing(flow, said("end", status="stopped", step=4, max_steps=9), polled(Liveness.ENDED, exit_code=143))
    assert end == Close(RunStage.CANCELLED, "stopped by a person at step 4 of 9")


@pytest.mark.parametrize("jump_s", [-172_800, 172_800])
def test_a_stop_by_another_clock_leaves_the_time_for_a_save(jump_s: float) -> None:
    """The machine's clock was set by two days after the supervisor began: a save of 599 seconds goes on, one of 601 does not."""
    flow = running(Limits(grace_s=600))
    stop = StopRequested(at_s=10 + jump_s, by=Stopper.PERSON)

    assert isinstance(flow.send([stop, polled(Liveness.ALIVE, at_s=10)]), Poll)
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=609)]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=611)]) == TakeStacks()


def test_a_job_that_finished_before_it_heard_the_stop_succeeded() -> None:
    """What is done is done."""
    flow = running()
    flow.send([StopRequested(at_s=3, by=Stopper.PERSON)])

    assert (
        closing(flow, said("end", status="finished"), polled(Liveness.ENDED, exit_code=0)).stage is RunStage.SUCCEEDED
    )


@pytest.mark.parametrize("exit_code", [143, -15, -9])
def test_a_stop_after_the_last_line_of_the_script_changes_nothing(exit_code: int) -> None:
    """The model is whole, and the process is only leaving; a crash of it is a failure still."""
    flow = running()
    flow.send([StopRequested(at_s=3, by=Stopper.PERSON)])
    finished = said("end", status="finished", step=9, max_steps=9)

    assert closing(flow, finished, polled(Liveness.ENDED, exit_code=exit_code)) == Close(RunStage.SUCCEEDED, "")
    assert closing(running(), finished, polled(Liveness.ENDED, exit_code=-11)).stage is RunStage.FAILED


def test_a_supervisor_killed_between_intent_and_start_hands_over_the_same_attempt() -> None:
    """The ledger says `starting` and not `started`: the same number goes to the backend again, which starts it once."""
    flow = supervise(fold([ASKED, STARTED[0]]), Limits())

    assert next(flow) == Start(1, resume=False)


@pytest.mark.parametrize(("exit_code", "goes_on"), [(-9, True), (None, True), (1, False)])
def test_an_attempt_whose_start_was_not_written_and_that_was_killed_is_continued_at_once(
    exit_code: int | None,
    goes_on: bool,
) -> None:
    """Supervisor and training were killed between the start and its line in the ledger: one `resume` is enough."""
    flow = supervise(fold([ASKED, STARTED[0]]), Limits())
    assert next(flow) == Start(1, resume=False)
    assert isinstance(flow.send(STARTED), Poll)
    action = flow.send([polled(Liveness.ENDED, exit_code=exit_code)])
    assert action == Start(2, resume=True) if goes_on else isinstance(action, Close)


def test_a_supervisor_killed_before_it_handed_over_a_resumed_attempt_resumes_still() -> None:
    """The second attempt continues from a checkpoint, whoever hands it over."""
    begun = Starting(at_s=5, attempt=2, backend="fake", resume_from="c")
    flow = supervise(fold([ASKED, *STARTED, polled(Liveness.ENDED, exit_code=-9), begun]), Limits())

    assert next(flow) == Start(2, resume=True)


@pytest.mark.parametrize("answer", [Liveness.ALIVE, Liveness.UNKNOWN])
def test_a_supervisor_killed_while_the_attempt_ran_looks_again(answer: Liveness) -> None:
    """Nothing is started twice: two attempts at once would write into the same checkpoints."""
    limits = Limits(poll_s=7)
    flow = supervise(fold([ASKED, *STARTED]), limits)

    assert next(flow) == Poll(7)
    assert flow.send([polled(answer)]) == Poll(7)


def test_a_supervisor_that_came_late_knows_what_happened_before() -> None:
    """Wherever it takes the run up, its state at the end is that of the whole ledger."""
    begun = (Starting(at_s=5, attempt=2, backend="fake"), Started(at_s=6, attempt=2, id="r/2"))
    died, done = polled(Liveness.ENDED, exit_code=-9), polled(Liveness.ENDED, exit_code=0, attempt=2)
    ways: list[tuple[list[Event], list[list[Event]]]] = [
        ([ASKED], [[*STARTED], [polled(Liveness.ENDED, exit_code=0)]]),
        ([ASKED, STARTED[0]], [[*STARTED], [polled(Liveness.ENDED, exit_code=0)]]),
        ([ASKED, *STARTED, STEPPED, died], [[*begun], [done]]),
        ([ASKED, *STARTED, STEPPED], [[died], [*begun], [done]]),
    ]

    for before, after in ways:
        flow = supervise(fold(before), Limits())
        next(flow)
        for events in after:
            flow.send(events)
        closed = Closed(at_s=9, stage=RunStage.FAILED)
        with pytest.raises(StopIteration) as end:
            flow.send([closed])
        assert end.value.value == fold([*before, *(event for events in after for event in events), closed])


@pytest.mark.parametrize("exit_code", [None, -9])
def test_an_attempt_killed_together_with_its_supervisor_is_continued_at_once(exit_code: int | None) -> None:
    """One `resume` suffices: it finds the attempt dead and starts the next."""
    flow = supervise(fold([ASKED, *STARTED, said("step", step=4, max_steps=9)]), Limits())
    assert isinstance(next(flow), Poll)

    assert flow.send([polled(Liveness.ENDED, exit_code=exit_code)]) == Start(2, resume=True)


@pytest.mark.parametrize(
    ("told", "exit_code", "stage"),
    [
        ([said("end", status="finished")], 0, RunStage.SUCCEEDED),
        ([said("end", status="failed", because="KeyError: 'a'")], 1, RunStage.FAILED),
        ([said("end", status="failed", because="KeyError: 'a'")], -9, RunStage.FAILED),
        ([], 0, RunStage.FAILED),
        ([], 1, RunStage.FAILED),
        ([StopRequested(at_s=3, by=Stopper.PERSON)], -9, RunStage.CANCELLED),
    ],
)
def test_an_attempt_that_ended_by_itself_meanwhile_is_judged(
    told: list[Event], exit_code: int, stage: RunStage
) -> None:
    """It succeeded, raised an error or was asked to stop: nothing is started."""
    flow = supervise(fold([ASKED, *STARTED]), Limits())
    next(flow)

    assert closing(flow, *told, polled(Liveness.ENDED, exit_code=exit_code)).stage is stage


def test_an_attempt_killed_under_its_supervisor_is_judged() -> None:
    """A job that is killed again and again is not started again and again."""
    assert closing(running(), polled(Liveness.ENDED, exit_code=-9)).stage is RunStage.FAILED


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
    assert end.stage is RunStage.SUCCEEDED


def test_an_attempt_that_its_backend_refused_meanwhile_is_not_tried_again_and_again() -> None:
    """It says why, so it was no kill."""
    flow = supervise(fold([ASKED, *STARTED]), Limits())
    next(flow)
    refused = Polled(at_s=3, attempt=1, answer=Liveness.ENDED, because="no such partition")

    assert closing(flow, refused) == Close(RunStage.FAILED, "no such partition")


def dependencies(backend: FakeBackend, store: FakeStore, orders: FakeOrders | None = None) -> Dependencies:
    def prepare(number: int, resume: bool) -> Attempt:
        return Attempt(run="r", number=number, folder="/f", plan=PLAN, resume_from="c" if resume else None)

    def ignore(_state: RunState, _events: Sequence[Event]) -> None:
        pass

    def evaluate(heed: Callable[[], None]) -> ModelEvaluated:
        heed()
        return ModelEvaluated(at_s=9.0, verdict="fail", because="f1 is too low", files=("e.json",))

    def export(heed: Callable[[], None]) -> ModelExported:
        heed()
        return ModelExported(at_s=9.0, verdict="pass", folder="/f/export", files=("/f/export/a.gguf",))

    return Dependencies(
        store=store,
        backend=backend,
        output=backend,
        clock=FakeClock(),
        prepare=prepare,
        diagnose=lambda attempt, now_s: Diagnosed(at_s=now_s, attempt=attempt),
        verify=lambda repository, _: Delivery("arrived" if repository == "me/kept" else "missing", "it is not there"),
        evaluate=evaluate,
        export=export,
        orders=orders or FakeOrders(),
        observe=ignore,
    )


@pytest.mark.parametrize(("repository", "stage"), [("me/kept", RunStage.SUCCEEDED), ("me/lost", RunStage.FAILED)])
def test_a_run_is_no_success_before_its_push_has_arrived(repository: str, stage: RunStage) -> None:
    """The training process said that it pushes, twice, and ended well; once is looked."""
    push, end = {"event": "push", "repository": repository, "folder": "/f"}, {"event": "end", "status": "finished"}
    backend = FakeBackend([Look(answer=Liveness.ENDED, exit_code=0, reports=[push, push, end])])
    store = FakeStore()

    state = drive("r", Limits(), dependencies(backend, store))

    assert state.stage is stage
    assert [event.repository for _, event in store.rows if isinstance(event, Delivered)] == [repository]
    assert ("it is not there" in state.because) == (stage is RunStage.FAILED)


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

    state = drive("r", Limits(), dependencies(Witness(), store))

    assert state.stage is RunStage.SUCCEEDED
    assert [type(event).__name__ for _, event in store.rows] == ["Starting", "Started", "Reported", "Polled", "Closed"]
    assert fold(event for _, event in store.rows) == replace(state)


def test_an_attempt_whose_settings_are_refused_is_not_started() -> None:
    """The backend hears nothing of it; the run ends as one whose process refused them, so that they can be accepted."""
    store, change = FakeStore(), SettingChange(key="learning_rate", before=1e-4, after=2e-4)
    store.append("r", [ASKED])

    class Untouched(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            raise AssertionError(attempt)

    given = dependencies(Untouched(), store)
    begun = replace(
        given, prepare=lambda *asked: replace(given.prepare(*asked), resume_from="/o/checkpoint-8", refused=(change,))
    )
    state = drive("r", Limits(attempts=3), begun)

    assert (state.stage, len(state.attempts), state.refused_changes) == (RunStage.FAILED, 1, (change,))
    assert (
        state.because
        == "it did not continue from checkpoint-8, which was saved with other settings: `learning_rate` from 0.0001 to 0.0002"
        "; if that is accepted, `learning_rate` stays 0.0001, as the optimizer's state has it"
    )


def test_every_action_can_be_carried_out() -> None:
    """One without a method of its own would be a KeyError in a running supervisor."""
    loop = _Loop("r", dependencies(FakeBackend(), FakeStore()), exports=False)

    assert {*loop._does} == {*get_args(Action)}


def test_looks_that_say_nothing_new_are_not_kept() -> None:
    """A long quiet run does not fill the ledger."""
    store = FakeStore()
    drive("r", Limits(), dependencies(FakeBackend([Look(answer=Liveness.ALIVE)] * 500), store))

    assert len(store.rows) == 6


def test_an_attempt_that_ended_while_nobody_watched_counts_until_the_last_event_of_its_training() -> None:
    """Its backend does not know when it ended."""
    steps = [{"event": "step", "step": number, "at": 100.0 + number} for number in (1, 2)]
    store, watched = FakeStore(), FakeStore()
    store.append("r", [ASKED, *STARTED, Reported(at_s=3.0, attempt=1, said=steps[0])])
    watched.append("r", [ASKED, *STARTED])
    over = Look(answer=Liveness.ENDED, exit_code=1, reports=steps[1:])

    state = drive("r", Limits(), _later(dependencies(FakeBackend([over]), store)))
    seen = drive("r", Limits(), _later(dependencies(FakeBackend([Look(answer=Liveness.ALIVE), over]), watched)))

    assert [each.ended_s for each in state.attempts] == [102.0]
    assert all(each.ended_s > 9000.0 for each in seen.attempts)


def _later(found: Dependencies) -> Dependencies:
    found.clock.sleep(9000.0)
    return found


def test_detaching_leaves_the_attempt_alone() -> None:
    """The supervisor goes, the attempt stays, and the ledger says that it runs."""
    store, backend = FakeStore(), FakeBackend([Look(answer=Liveness.ALIVE)] * 9)
    state = drive("r", Limits(), dependencies(backend, store, FakeOrders(None, "detach")))

    assert (state.stage, backend.stopped, backend.killed) == (RunStage.RUNNING, [], [])
    assert not any(isinstance(event, Closed) for _, event in store.rows)


@pytest.mark.parametrize("after", [[], STARTED[:1]])
def test_a_stop_while_an_attempt_is_prepared_is_sent_once_it_has_started(after: Sequence[Event]) -> None:
    """Whether it is written before the attempt is, or after it: a person's stop stays a stop."""
    stop = StopRequested(at_s=1.5, by=Stopper.PERSON)
    flow = supervise(fold([ASKED]), Limits(attempts=3))
    assert next(flow) == Start(1, resume=False)
    events = [*after, stop, *STARTED[len(after) :]]

    assert flow.send(events) == Stop(Stopper.PERSON)


@pytest.mark.parametrize("by", [Stopper.STALL, Stopper.NAN, Stopper.SPIKE])
@pytest.mark.parametrize("orders", [["stop"], ["kill"], ["stop", "kill"]])
def test_a_persons_order_goes_before_the_watchs(by: Stopper, orders: list[Order]) -> None:
    """No attempt follows, and none is told twice to save."""
    store, backend = (
        FakeStore(),
        FakeBackend([*[Look(answer=Liveness.ALIVE)] * 2, Look(answer=Liveness.ENDED, exit_code=143)]),
    )
    store.append("r", [ASKED, *STARTED, StopRequested(at_s=3.0, by=by)])
    state = drive("r", Limits(attempts=3), dependencies(backend, store, FakeOrders(*orders)))

    assert (state.stage, state.stop, len(state.attempts)) == (RunStage.CANCELLED, Stopper.PERSON, 1)
    assert backend.stopped == []
    assert bool(backend.killed) == ("kill" in orders)


def test_an_order_to_stop_is_written_and_passed_on_once() -> None:
    """Ctrl-C twice sends one SIGTERM: a second would make the runtime leave without saving."""
    store, backend = FakeStore(), FakeBackend([Look(answer=Liveness.ALIVE)] * 3)
    state = drive("r", Limits(), dependencies(backend, store, FakeOrders("stop", "stop")))

    assert backend.stopped == ["r/1"]
    assert sum(isinstance(event, StopRequested) for _, event in store.rows) == 1
    assert state.stage.ended


def test_a_refusing_backend_fails_the_run_with_its_reason() -> None:
    """The run is in the ledger as what it was."""

    class Refusing(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            raise BackendError("no such partition", where=attempt.id, fix="name another")

    state = drive("r", Limits(), dependencies(Refusing(), FakeStore()))

    assert (state.stage, state.because) == (RunStage.FAILED, "no such partition")


class Unreachable(FakeBackend):
    """A backend that carries out every call, and whose answer to each arrives only when it is called the third time."""

    def __init__(self, looks: Sequence[Look] = ()) -> None:
        super().__init__(looks)
        self.calls = list[str]()

    def _answer(self, call: str) -> None:
        self.calls.append(call)
        if self.calls.count(call) < 3:
            raise UnreachableError("no answer", where="fake", fix="it is tried again")

    def submit(self, attempt: Attempt) -> str:
        attempt_id = super().submit(attempt)
        self._answer("submit")
        return attempt_id

    def stop(self, attempt_id: str) -> None:  # noqa: ARG002 - there is but one
        self._answer("stop")

    def fetch(self, attempt: AttemptState) -> None:
        super().fetch(attempt)
        self._answer("fetch")


def test_a_call_without_an_answer_is_repeated_and_ends_nothing() -> None:
    """One attempt is submitted, one stop is in the ledger, and the run ends when its files are here."""
    store, backend = FakeStore(), Unreachable([Look(answer=Liveness.ALIVE)])
    state = drive("r", Limits(), dependencies(backend, store, FakeOrders(None, None, "stop")))

    assert backend.calls == ["submit"] * 3 + ["stop"] * 3 + ["fetch"] * 3
    assert backend.submitted == ["r/1"]
    assert sum(isinstance(event, StopRequested) for _, event in store.rows) == 1
    assert state.stage is RunStage.SUCCEEDED


def test_what_goes_wrong_while_an_attempt_is_submitted_is_told_of_that_attempt() -> None:
    """Not of the one before, which has ended."""
    store, told = FakeStore(), list[tuple[int, int]]()
    store.append("r", [ASKED, *STARTED, polled(Liveness.ENDED, exit_code=1)])

    def observe(state: RunState, events: Sequence[Event]) -> None:
        told.extend(
            (each.attempt, len(state.attempts))
            for each in events
            if isinstance(each, Polled) and each.answer is Liveness.UNKNOWN
        )

    drive("r", Limits(), replace(dependencies(Unreachable(), store), observe=observe))

    assert told[:2] == [(2, 2)] * 2


def test_a_person_may_leave_while_the_backend_cannot_be_reached() -> None:
    """The ledger says that an attempt may have been started; `resume` submits the same one again."""
    store = FakeStore()
    state = drive("r", Limits(), dependencies(Unreachable(), store, FakeOrders("detach")))

    assert [type(event) for _, event in store.rows] == [Starting]
    assert next(supervise(fold(event for _, event in store.rows), Limits())) == Start(1, resume=False)
    assert not state.stage.ended


def test_an_attempt_ends_when_its_output_has_arrived() -> None:
    """Its log may come late, and with it the event that decides how it ended."""
    store = FakeStore()

    class Late(FakeBackend):
        def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
            news = super().read(attempt, at_s, ended=ended)
            return replace(news, complete=len(self.polled) > 1)

    state = drive("r", Limits(), dependencies(Late([Look(answer=Liveness.ENDED, exit_code=0)]), store))
    polls = [event for _, event in store.rows if isinstance(event, Polled)]

    assert [(each.answer, each.phase) for each in polls] == [(Liveness.ALIVE, DRAINING), (Liveness.ENDED, "")]
    assert state.stage is RunStage.SUCCEEDED


@pytest.mark.parametrize(
    ("exit_code", "event", "verdict"),
    [
        (0, {"status": "finished", "max_steps": 9}, (RunStage.SUCCEEDED, "")),
        (1, {"status": "failed", "because": "KeyError: 'a'"}, (RunStage.FAILED, "KeyError: 'a'")),
    ],
)
@pytest.mark.parametrize("late", ["", "no route to the host"])
def test_an_ended_attempt_whose_output_is_late_is_neither_stopped_nor_killed(
    exit_code: int, event: dict[str, Any], verdict: tuple[RunStage, str], late: str
) -> None:
    """Neither timeout nor grace period count while its log is awaited, and that is said; the verdict is how it ended."""

    class Late(FakeBackend):
        def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
            news = super().read(attempt, at_s, ended=ended)
            return news if at_s > 1200 else OutputNews(complete=False, because=late)

    store = FakeStore()
    ended = Look(answer=Liveness.ENDED, exit_code=exit_code, reports=[{"event": "end", **event}])
    backend = Late([ended] * 1000)
    state = drive("r", Limits(timeout_s=20, grace_s=30), dependencies(backend, store))
    polls = [event for _, event in store.rows if isinstance(event, Polled)]

    assert (state.stage, state.because) == verdict
    assert (backend.stopped, backend.killed) == ([], [])
    assert [each.phase for each in polls] == [f"{DRAINING}: {late}" if late else DRAINING, ""]


def test_time_in_a_queue_is_no_time_of_the_attempt() -> None:
    """The run is queued, and its timeout begins when the attempt runs."""
    flow = running(Limits(timeout_s=100))
    waits = replace(polled(Liveness.ALIVE, at_s=5000), waiting=True, phase="queued for hardware")

    assert isinstance(flow.send([waits]), Poll)
    assert fold([ASKED, *STARTED, waits]).stage is RunStage.QUEUED
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=6000)]), Poll)
    assert fold([ASKED, *STARTED, waits, polled(Liveness.ALIVE, at_s=6000)]).stage is RunStage.RUNNING
    assert isinstance(flow.send([polled(Liveness.ALIVE, at_s=6100)]), Poll)
    assert flow.send([polled(Liveness.ALIVE, at_s=6101)]) == Stop(Stopper.TIMEOUT)


def test_lost_events_are_in_the_ledger_and_are_not_asked_for_again() -> None:
    """A supervisor that takes over knows that they are lost."""
    lost = ReportsLost(at_s=3, attempt=1, process="ab", first=3, last=14)
    state = fold([ASKED, *STARTED, Reported(at_s=3, attempt=1, said={}, process="ab", number=2), lost])

    assert lost.count == 12
    assert state.current is not None
    assert dict(state.current.heard) == {"ab": 14}


@dataclass(slots=True)
class Hanging(FakeBackend):
    """An attempt that does nothing but be alive until it is killed."""

    capabilities = BackendCapabilities(name="hanging")
    done: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def submit(self, attempt: Attempt) -> str:
        return attempt.id

    def poll(self, attempt_id: str) -> PollResult:
        killed = ("kill", attempt_id) in self.done
        return PollResult(answer=Liveness.ENDED, exit_code=-9) if killed else PollResult(answer=Liveness.ALIVE)

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:  # noqa: ARG002 - it reports nothing
        return OutputNews()

    def fetch(self, attempt: AttemptState) -> None:
        """Nothing is kept."""

    def stop(self, attempt_id: str) -> None:
        self.done.append(("stop", attempt_id))

    def request_stacks(self, attempt_id: str) -> None:
        self.done.append(("stacks", attempt_id))

    def kill(self, attempt_id: str) -> None:
        self.done.append(("kill", attempt_id))


def times(store: FakeStore) -> list[tuple[str, float]]:
    """The stored events, each with its seconds since the beginning."""
    return [(type(event).__name__, event.at_s - 1000) for _, event in store.rows]


def test_a_job_that_hangs_past_its_timeout_is_stopped_shows_its_stacks_and_is_killed() -> None:
    """A GPU that is rented by the hour is freed, in this order and at these times."""
    store, backend = FakeStore(), Hanging()
    state = drive("r", Limits(timeout_s=10, poll_s=1, grace_s=5), dependencies(backend, store))

    assert backend.done == [("stop", "r/1"), ("stacks", "r/1"), ("kill", "r/1")]
    killed = "stopped by the timeout before its first reported step; it did not end, and was killed"
    assert (state.stage, state.because) == (RunStage.FAILED, killed)
    assert times(store) == [
        ("Starting", 0),
        ("Started", 0),
        ("Polled", 1),
        ("StopRequested", 11),
        ("Polled", 19),
        ("Closed", 19),
    ]


@pytest.mark.parametrize("orders", [("kill",), ("stop", "kill"), (None, "kill")])
def test_a_run_that_a_person_kills_is_cancelled_and_not_failed(orders: tuple[Any, ...]) -> None:
    """Its attempt is killed at once, and the ledger says who wanted that, so that every terminal can."""
    store, backend = FakeStore(), Hanging()
    state = drive("r", Limits(), dependencies(backend, store, FakeOrders(*orders)))

    assert backend.done == [(order, "r/1") for order in orders if order]
    killed = "stopped by a person before its first reported step; killed at once"
    assert (state.stage, state.because) == (RunStage.CANCELLED, killed)
    wanted = [event for _, event in store.rows if isinstance(event, StopRequested)]
    assert [event.kills for event in wanted] == [order == "kill" for order in orders if order]
    assert {event.by for event in wanted} == {Stopper.PERSON}


@pytest.mark.parametrize("checkpoint", [None, 0, 90, 97])
@pytest.mark.parametrize("resumed_at", [0, 80])
@pytest.mark.parametrize("kills", [True, False])
def test_what_a_kill_costs_is_told(kills: bool, resumed_at: int, checkpoint: int | None) -> None:
    """How many steps are lost, and where `resume` goes on; one that saved and ended lost none."""
    told = [
        said("start", step=resumed_at, max_steps=300),
        *([said("checkpoint", step=checkpoint, path=f"/c/checkpoint-{checkpoint}")] if checkpoint else []),
        said("step", step=97, max_steps=300),
    ]
    stops = [StopRequested(at_s=3, by=Stopper.PERSON), StopRequested(at_s=4, by=Stopper.PERSON, kills=kills)]
    begun: list[Event] = [
        ASKED,
        Starting(at_s=1, attempt=1, backend="local"),
        Started(at_s=2, attempt=1, id="x"),
        *told,
    ]
    killed = fold([*begun, *stops, polled(Liveness.ENDED, at_s=5, exit_code=-9)])
    saved = fold(
        [*begun, *stops, said("end", status="stopped", step=97), polled(Liveness.ENDED, at_s=5, exit_code=143)]
    )
    between = fold(
        [*begun, polled(Liveness.ENDED, at_s=2.5, exit_code=-9), *stops]
    )  # an attempt that was killed before

    newest = checkpoint or resumed_at
    lost = "1 step" if newest == 96 else f"{97 - newest} steps"
    _, because = verdict(killed, None)
    assert because.startswith("stopped by a person at step 97 of 300; ")
    assert ("killed at once, without a checkpoint" in because) is kills
    assert f": {lost} lost, " in because
    assert because.endswith(f"from checkpoint-{newest}" if newest else "`resume` starts over")
    assert verdict(saved, None)[1] == "stopped by a person at step 97 of 300"
    assert verdict(between, None)[1] == "stopped by a person at step 97 of 300"


@dataclass(slots=True)
class Shown:
    """What an observer was shown: the last state, and all events."""

    state: RunState = field(default_factory=RunState)
    events: list[Event] = field(default_factory=list[Event])

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        self.state = state
        self.events += events


def test_whoever_watches_is_shown_every_event_once() -> None:
    """Those of the ledger, and the looks that were not worth keeping."""
    looks = [
        Look(answer=Liveness.ALIVE, reports=[{"event": "step", "step": 1}]),
        Look(answer=Liveness.ALIVE),
        Look(answer=Liveness.UNKNOWN, because="no route to the host"),
        Look(answer=Liveness.ENDED, exit_code=3),
    ]
    store, shown, backend = FakeStore(), Shown(), FakeBackend(looks)
    store.append("r", [ASKED])
    store.append("another", [Closed(at_s=0, stage=RunStage.FAILED)])

    state = drive("r", Limits(), replace(dependencies(backend, store), observe=shown.observe))

    kept = [event for run, event in store.rows if run == "r"]
    quiet = Polled(at_s=1001, attempt=1, answer=Liveness.ALIVE)
    assert [event for event in shown.events if event != quiet] == kept
    assert shown.events.count(quiet) == 1
    assert Polled(at_s=1001.5, attempt=1, answer=Liveness.UNKNOWN, because="no route to the host") in kept
    assert shown.state == state == fold(kept)
    assert state.because == "exit code 3 before its first reported step"
    # What was taken in is not asked for again.
    assert backend.polled == [("r/1", 0), ("r/1", 1), ("r/1", 1), ("r/1", 1)]


@pytest.mark.parametrize("last", [STEPPED, Closed(at_s=9, stage=RunStage.FAILED)])
@pytest.mark.parametrize("earlier", [(), (Closed(at_s=0, stage=RunStage.CANCELLED),)])
def test_watching_shows_each_event_once_until_nobody_supervises_the_run(last: Event, earlier: Sequence[Event]) -> None:
    """What its supervisor wrote last is shown, too; an end from before the supervisor is no end. Between two looks passes half a second."""
    store, clock, shown = FakeStore(), FakeClock(), Shown()
    looks: list[list[Event]] = [[ASKED, *earlier], [], [*STARTED], [last]]

    def goes_on() -> bool:
        store.append("r", looks.pop(0))
        store.append("another", [Closed(at_s=0, stage=RunStage.FAILED)])
        return bool(looks)

    state = watch_run("r", store, clock, observe=shown.observe, goes_on=goes_on)

    assert shown.events == [ASKED, *earlier, *STARTED, last]
    assert shown.state == state == fold(shown.events)
    assert clock.now == 1000 + 3 * 0.5


def test_a_resumed_run_continues_from_its_checkpoint_and_the_ledger_says_from_which() -> None:
    """The next attempt is made ready as a resumed one, the first one as none."""
    store, prepared = FakeStore(), []

    def prepare(number: int, resume: bool) -> Attempt:
        prepared.append((number, resume))
        return Attempt(run="r", number=number, folder="/f", plan=PLAN, resume_from="checkpoint-4" if resume else None)

    drive(
        "r",
        Limits(),
        replace(dependencies(FakeBackend([Look(answer=Liveness.ENDED, exit_code=1)]), store), prepare=prepare),
    )
    drive("r", Limits(), replace(dependencies(FakeBackend(), store), prepare=prepare))

    assert prepared == [(1, False), (2, True)]
    assert [event for _, event in store.rows if isinstance(event, Starting)] == [
        Starting(at_s=1000, attempt=1, backend="fake"),
        Starting(at_s=1000, attempt=2, backend="fake", resume_from="checkpoint-4"),
    ]


def test_a_push_is_judged_by_what_the_run_told_of_it() -> None:
    """Whoever looks at the Hub is given the state, with the folder that was pushed from."""
    push = {"event": "push", "repository": "me/kept", "folder": "/f"}
    end = {"event": "end", "status": "finished"}
    store, folders = FakeStore(), []

    def verify(repository: str, state: RunState) -> Delivery:
        folders.append(state.pushes[repository].folder)
        return Delivery("arrived")

    backend = FakeBackend([Look(answer=Liveness.ENDED, exit_code=0, reports=[push, end])])
    drive("r", Limits(), replace(dependencies(backend, store), verify=verify))

    assert folders == ["/f"]
    assert times(store)[-2:] == [("Delivered", 0.5), ("Closed", 0.5)]


def test_a_refusal_by_the_backend_is_kept_with_its_time() -> None:
    """And every report of the training process with the time at which it was heard."""

    class Refusing(FakeBackend):
        def submit(self, attempt: Attempt) -> str:
            raise BackendError("no such partition", where=attempt.id, fix="name another")

    refused, heard = FakeStore(), FakeStore()
    drive("r", Limits(), dependencies(Refusing(), refused))
    drive("r", Limits(), dependencies(FakeBackend(), heard))

    assert times(refused) == [("Starting", 0), ("Polled", 0), ("Closed", 0)]
    assert times(heard)[2:] == [("Reported", 0.5), ("Polled", 0.5), ("Closed", 0.5)]


def test_a_run_knows_what_was_asked_since_when_and_where_it_runs() -> None:
    """What `holdfast runs` shows of it."""
    asked = RunRequested(at_s=5, folder="/runs/r", about=RequestedJob(method="sft"))
    state = fold([asked, Starting(at_s=7, attempt=1, backend="local", resume_from="checkpoint-4")])

    assert (state.folder, state.about, state.started_s, state.seen_s) == ("/runs/r", RequestedJob(method="sft"), 5, 7)
    assert state.current is not None
    assert (state.current.backend, state.current.started_s, state.current.resume_from) == ("local", 7, "checkpoint-4")


def test_a_run_that_is_resumed_is_queued_again_and_its_old_verdict_is_gone() -> None:
    """Nobody reads of a run under way that it was stopped, and why."""
    ended: list[Event] = [
        ASKED,
        *STARTED,
        StopRequested(at_s=3, by=Stopper.PERSON),
        polled(Liveness.ENDED, exit_code=143),
        Closed(at_s=4, stage=RunStage.CANCELLED, because="stopped by a person"),
    ]
    state = fold([*ended, Starting(at_s=5, attempt=2, backend="fake"), polled(Liveness.UNKNOWN, attempt=2)])

    assert (state.stage, state.because, state.stop) == (RunStage.QUEUED, "", None)


def test_a_report_that_comes_late_does_not_open_a_closed_run() -> None:
    """The verdict stands."""
    closed = Closed(at_s=4, stage=RunStage.FAILED, because="it disappeared")

    assert fold([ASKED, *STARTED, closed, STEPPED]).stage is RunStage.FAILED


def test_a_refused_run_says_by_what_and_for_which_codes() -> None:
    """So that it can be told from one that failed."""
    state = fold([ASKED, Closed(at_s=1, stage=RunStage.FAILED, refused_by="check", codes=("ARG101",))])

    assert (state.refused_by, state.codes) == ("check", ("ARG101",))


def test_an_attempt_knows_what_its_backend_said_last() -> None:
    """A backend that cannot be asked is told from a job that is alive, with the reason."""
    lost = Polled(at_s=3, attempt=1, answer=Liveness.UNKNOWN, because="no route to the host")
    alive, unknown, gone = (
        fold([ASKED, *STARTED, look]).current
        for look in (polled(Liveness.ALIVE), lost, polled(Liveness.ENDED, exit_code=1))
    )

    assert alive
    assert unknown
    assert gone
    assert (alive.answer, gone.answer) == (Liveness.ALIVE, Liveness.ENDED)
    assert (unknown.answer, unknown.because) == (Liveness.UNKNOWN, "no route to the host")


@pytest.mark.parametrize(
    ("status", "exit_code", "stage"),
    [
        ("stopped", 143, RunStage.CANCELLED),
        ("stopped", 0, RunStage.CANCELLED),
        ("failed", 1, RunStage.FAILED),
        ("finished", 0, RunStage.SUCCEEDED),
        ("finished", None, RunStage.SUCCEEDED),
        ("finished", 1, RunStage.FAILED),
    ],
)
def test_an_attempt_that_saved_and_stopped_is_cancelled_and_not_failed(
    status: str, exit_code: int | None, stage: RunStage
) -> None:
    """One that finished has succeeded, unless its process crashed on the way out."""
    state = fold([ASKED, *STARTED, said("end", status=status), polled(Liveness.ENDED, exit_code=exit_code)])

    assert state.current is not None
    assert state.current.stage is stage


def test_the_newest_metrics_are_kept() -> None:
    """The loss of the last step that had one, and all numbers of the last evaluation."""
    told = [
        said("step", step=1, loss=3.0),
        said("evaluate", metrics={"eval_loss": 2.5, "eval_name": "chats"}),
        said("step", step=2, loss=2.0),
        said("step", step=3, loss=None),
        said("evaluate"),
        said("heartbeat", loss=9.0, metrics={"eval_loss": 9.0}),
    ]
    state = fold([ASKED, *STARTED, *told])

    assert state.current is not None
    assert state.current.metrics == {"train_loss": 2.0, "eval_loss": 2.5}
    assert state.current.reports == len(told)


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
            process=st.sampled_from(["", "ab"]),
            number=st.integers(0, 9),
            said=st.dictionaries(st.sampled_from(["event", "step", "loss", "idle_s"]), st.integers(0, 9)),
        ),
        st.builds(
            ReportsLost,
            at_s=st.floats(0, 9),
            attempt=st.integers(1, 3),
            process=st.sampled_from(["", "ab"]),
            first=st.integers(1, 9),
            last=st.integers(0, 9),
        ),
        st.builds(
            Closed,
            at_s=st.floats(0, 9),
            stage=st.sampled_from(RunStage),
            refused_by=st.sampled_from(["check", "rehearsal", ""]),
            codes=st.lists(st.text()).map(tuple),
        ),
        st.builds(
            TroubleNoted,
            at_s=st.floats(0, 9),
            attempt=st.integers(1, 3),
            trouble=st.builds(
                Trouble, kind=st.sampled_from(get_args(TroubleKind)), text=st.text(), step=st.integers(0, 9)
            ),
        ),
        st.builds(Delivered, at_s=st.floats(0, 9), repository=st.text(), verdict=st.just("missing"), because=st.text()),
    ),
    max_size=12,
)


@given(EVENTS, st.integers(0, 12))
def test_folding_in_two_parts_gives_the_same_state(events: list[Event], cut: int) -> None:
    """A supervisor that was killed anywhere knows what it knew."""
    assert fold(events[cut:], fold(events[:cut])) == fold(events)


@given(EVENTS)
def test_events_survive_json(events: list[Event]) -> None:
    """What the ledger gives back is what it was given, each value of its own type again."""
    told = [(kind, json.loads(json.dumps(fields))) for kind, fields in map(event_to_json, events)]
    again = [event_from_json(kind, fields) for kind, fields in told]

    assert again == events
    assert repr(again) == repr(events)


def test_the_ledger_of_an_older_holdfast_can_be_read() -> None:
    """Its verdicts had no codes yet."""
    older = {"at_s": 1.0, "stage": "failed", "because": "refused by check"}

    assert event_from_json("closed", older) == Closed(at_s=1.0, stage=RunStage.FAILED, because="refused by check")


def test_the_ledger_of_a_newer_holdfast_is_refused_with_the_way_out() -> None:
    """What, where and how to fix it."""
    with pytest.raises(LedgerError) as refused:
        event_from_json("teleported", {})

    assert (refused.value.what, refused.value.where) == ("unknown event 'teleported'", "the ledger")
    assert refused.value.fix == "use the holdfast version that wrote it"


def test_the_final_model_is_evaluated_before_the_verdict() -> None:
    """Of a run that has trained, once; a supervisor that takes over does what is missing."""
    asked = Limits(evaluates=True)
    ends = (said("end", status="finished"), polled(Liveness.ENDED, exit_code=0))
    trained = (ASKED, *STARTED, *ends)
    done = ModelEvaluated(at_s=9.0, verdict="fail", because="f1 is too low")

    flow = running(asked)
    assert flow.send(ends) == EvaluateModel()
    assert closing(flow, done) == Close(RunStage.SUCCEEDED, "")
    assert next(supervise(fold(trained), asked)) == EvaluateModel()
    assert next(supervise(fold([*trained, done]), asked)) == Close(RunStage.SUCCEEDED, "")
    assert next(supervise(fold(trained), Limits())) == Close(RunStage.SUCCEEDED, "")
    assert closing(running(asked), polled(Liveness.ENDED, exit_code=1)).stage is RunStage.FAILED


@pytest.mark.parametrize(("order", "verdict"), [(None, "fail"), ("stop", "skipped"), ("detach", None)])
def test_a_person_is_heard_while_the_final_model_is_evaluated(order: Order | None, verdict: str | None) -> None:
    """A stop leaves the evaluation out; after a detach, the next supervisor does it."""
    given = dependencies(FakeBackend(), FakeStore(), FakeOrders(None, order))

    state = drive("r", Limits(evaluates=True), given)

    assert (state.evaluated.verdict if state.evaluated else None) == verdict
    assert state.stage is (RunStage.RUNNING if order == "detach" else RunStage.SUCCEEDED)


def test_a_stop_of_the_evaluation_leaves_out_the_export_too() -> None:
    """What is stopped ends; a later `resume` makes the export."""
    given = dependencies(FakeBackend(), FakeStore(), FakeOrders(None, "stop"))

    state = drive("r", Limits(evaluates=True, exports=True), given)

    assert state.evaluated
    assert state.exported
    assert (state.evaluated.verdict, state.exported.verdict) == ("skipped", "skipped")
    assert state.lacks_export
    assert state.stage is RunStage.SUCCEEDED


def test_the_final_model_is_exported_after_its_evaluation() -> None:
    """Once; a supervisor that takes over goes on with it. An export that fails leaves the run as it is, and can be made again."""
    asked = Limits(exports=True)
    trained = (ASKED, *STARTED, said("end", status="finished"), polled(Liveness.ENDED, exit_code=0))
    evaluated = ModelEvaluated(at_s=8.0, verdict="pass")
    failed = ModelExported(at_s=9.0, verdict="fail", because="no space left")
    made = ModelExported(at_s=9.0, verdict="pass", folder="/f/export")
    closed = Closed(at_s=9.0, stage=RunStage.SUCCEEDED)

    flow = supervise(fold(trained), Limits(exports=True, evaluates=True))
    assert next(flow) == EvaluateModel()
    assert flow.send((evaluated,)) == ExportModel()
    assert closing(flow, failed) == Close(RunStage.SUCCEEDED, "")
    assert next(supervise(fold([*trained, failed, closed]), asked)) == ExportModel()
    assert next(supervise(fold([*trained, made]), asked)) == Close(RunStage.SUCCEEDED, "")
    assert next(supervise(fold(trained), Limits())) == Close(RunStage.SUCCEEDED, "")
    assert closing(running(asked), polled(Liveness.ENDED, exit_code=1)).stage is RunStage.FAILED


@pytest.mark.parametrize(("order", "verdict"), [(None, "pass"), ("stop", "skipped"), ("detach", None)])
def test_a_person_is_heard_while_the_final_model_is_exported(order: Order | None, verdict: str | None) -> None:
    """A stop leaves the export to a later `resume`; after a detach, the next supervisor makes it."""
    given = dependencies(FakeBackend(), FakeStore(), FakeOrders(None, order))

    state = drive("r", Limits(exports=True), given)

    assert (state.exported.verdict if state.exported else None) == verdict
    assert state.lacks_export is (order == "stop")
    assert state.stage is (RunStage.RUNNING if order == "detach" else RunStage.SUCCEEDED)


def test_signs_in_what_comes_with_the_end_of_a_short_attempt_are_noted() -> None:
    """Its steps and its end are seen at one look."""
    metrics = {"reward": 0.0, "reward_std": 0.0}
    steps = [said("step", step=step, max_steps=3, loss=0.0, metrics=metrics) for step in (1, 2, 3)]
    end = said("end", status="finished", step=3, max_steps=3)
    flow = running()

    noted = flow.send((said("start", max_steps=3), *steps, end, polled(Liveness.ENDED, exit_code=0)))

    assert isinstance(noted, Note)
    assert noted.trouble.kind == "rewards-alike"
    assert closing(flow, TroubleNoted(at_s=4.0, attempt=1, trouble=noted.trouble)).stage is RunStage.SUCCEEDED


@pytest.mark.parametrize(("told", "pause_s"), [(True, 1.0), (False, 30.0)])
def test_the_rest_of_a_log_is_read_soon_if_the_end_has_arrived(told: bool, pause_s: float) -> None:
    """Only text can follow then. A log that is late, or a machine that was lost, gets its time."""
    flow = running(Limits(poll_s=30.0))
    events = [said("end", status="finished", step=9, max_steps=9)] if told else []
    drains = replace(polled(Liveness.ALIVE), phase=DRAINING, drains=True)

    assert flow.send([*events, drains]) == Poll(pause_s)
    assert flow.send([replace(drains, at_s=4.0)]) == Poll(pause_s)
