"""An attempt without progress is looked at, then stopped: on its own word alone, and only if its rhythm or the user's limit says so."""

from collections.abc import Sequence

import pytest

from holdfast.core.run.event import (
    Diagnosed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunStage,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.run.actions import Action, Kill, Note, Poll, Start, Stop, TakeStacks
from holdfast.engine.run.stalls import Hearing, describe_silence, judge_silence
from holdfast.engine.run.supervise import Limits, supervise
from holdfast.engine.run.verdict import verdict
from tests.engine.run.test_supervise import ASKED, STARTED, polled, said

RHYTHM = [
    said("start", max_steps=100),
    said("step", step=1, activity="first-step", idle_s=3.0),
    *(said("step", step=step, activity="step", idle_s=1.0, max_steps=100) for step in range(2, 30)),
]


def beat(idle_s: float, activity: str = "step") -> Reported:
    return said("heartbeat", activity=activity, idle_s=idle_s)


def trained(*more: Event) -> RunState:
    return fold([ASKED, *STARTED, *RHYTHM, polled(Liveness.ALIVE), *more])


def answers(events_of: Sequence[Sequence[Event]], limits: Limits = Limits(poll_s=5.0)) -> list[Action]:  # noqa: B008 - frozen
    """Return what the supervisor does beside polling, when its polls bring these events."""
    state = trained()
    flow = supervise(state, limits)
    action, done, polls = next(flow), list[Action](), iter(events_of)
    while True:
        events: Sequence[Event] = ()
        match action:
            case Poll():
                if (brought := next(polls, None)) is None:
                    return done
                events = brought
            case Note(trouble):
                events = [TroubleNoted(at_s=9.0, attempt=1, trouble=trouble)]
            case Stop(by):
                events = [StopRequested(at_s=9.0, by=by)]
            case _:
                pass
        done += [] if isinstance(action, Poll) else [action]
        action = flow.send(events)


def alive(*events: Event, at_s: float = 9.0) -> list[Event]:
    return [*events, polled(Liveness.ALIVE, at_s=at_s)]


def test_a_silence_is_looked_at_then_noted_and_only_a_long_one_is_stopped() -> None:
    """Its stacks are taken both times, so that it shows whether it moved."""
    done = answers([alive(beat(30.0)), alive(beat(70.0)), alive(beat(200.0)), alive(beat(1210.0))])

    assert [type(each) for each in done] == [TakeStacks, Note, TakeStacks, Stop]
    assert done[-1] == Stop(Stopper.STALL)
    assert isinstance(note := done[1], Note)
    assert (
        note.trouble.text
        == "no sign of life for 1 min 10 s while it does a step; usually it takes at most 1.0 s for that"
    )


def test_a_silence_that_ends_is_noted_once_and_stops_nothing() -> None:
    """The next one, at another step, is noted again."""
    step = said("step", step=30, activity="step", idle_s=90.0)
    done = answers([alive(beat(70.0)), alive(beat(80.0)), alive(step), alive(beat(130.0)), alive(beat(134.0))])

    assert [type(each) for each in done] == [TakeStacks, Note]  # 1.5 times the longest one is 135 s
    assert [type(each) for each in answers([alive(), alive(beat(70.0)), alive(step), alive(beat(140.0))])] == [
        TakeStacks,
        Note,
    ] * 2


@pytest.mark.parametrize(
    "activity", ["import", "load", "evaluate", "save", "finish", "callback", "first-step-of-tomorrow", ""]
)
def test_what_it_has_not_shown_yet_may_take_as_long_as_it_likes(activity: str) -> None:
    """A first evaluation of two days, and activities of a later runtime."""
    assert answers([alive(beat(172_800.0, activity))]) == []


@pytest.mark.parametrize("at_s", [10.0, 1e6, -1e6])
def test_silence_of_the_connection_is_no_silence_of_the_training(at_s: float) -> None:
    """Polls without an answer for days, clocks that jump, and answers without news: nothing of that counts."""
    unknown = [[polled(Liveness.UNKNOWN, at_s=at_s)]] * 50

    assert answers([*unknown, alive(at_s=at_s), alive(at_s=2 * at_s), *unknown]) == []


def test_what_it_said_before_the_connection_was_lost_waits_for_an_answer() -> None:
    """It may have gone on since."""
    assert answers([[beat(1300.0), polled(Liveness.UNKNOWN)]] * 3) == []


def test_the_limit_of_the_user_holds_instead_of_the_rhythm() -> None:
    """In both directions, and for what was never seen."""
    long, short = Limits(poll_s=5.0, stall_s=7200.0), Limits(poll_s=5.0, stall_s=20.0)

    assert answers([alive(beat(3600.0))] * 3, long) == []
    assert answers([alive(beat(25.0, "load"))] * 3, short)[-1] == Stop(Stopper.STALL)


def test_for_the_limit_of_the_user_a_process_counts_that_cannot_even_say_that_it_is_silent() -> None:
    """A process that was stopped, or whose threads wait for one: it is alive, its files can be read, and nothing comes."""
    limits = Limits(poll_s=5.0, stall_s=20.0)
    quiet = [alive(at_s=10.0 + 5.0 * number) for number in range(8)]

    assert Stop(Stopper.STALL) in answers(quiet, limits)
    assert answers([*quiet[:3], [polled(Liveness.UNKNOWN, at_s=1e5)], alive(at_s=2e5)], limits) == []


def test_one_that_does_not_stop_is_killed_after_a_minute() -> None:
    """A hanging process does not save, so that ten minutes for that would be lost."""
    stalled = [alive(beat(310.0)), alive(beat(320.0))]
    silent = [alive(beat(1300.0), at_s=at_s) for at_s in (30.0, 71.0, 72.0)]

    assert [type(each) for each in answers([*stalled, *silent])][-2:] == [TakeStacks, Kill]
    assert Kill() not in answers([*stalled, *silent[:1]])


def test_a_stall_is_nobodys_wish_so_that_another_attempt_may_follow() -> None:
    """Unlike a person's stop, and the timeout."""
    assert [stopper.is_final for stopper in (Stopper.STALL, Stopper.PERSON, Stopper.TIMEOUT)] == [False, True, True]


def test_a_silence_is_described_with_what_is_known() -> None:
    """What it does, since when, and what is usual."""
    current = trained(beat(12.0, "load")).current
    assert current is not None
    assert describe_silence(current) == "no sign of life for 12 s while its trainer is being made"
    assert judge_silence(current, Hearing(), None) is None


def test_the_time_of_a_suspended_supervisor_is_not_counted() -> None:
    """It heard nothing for hours, and knows nothing of them."""
    current = trained().current
    assert current is not None
    hearing = Hearing().after(current, 0.0, 5.0).after(current, 5.0, 5.0).after(current, 30_000.0, 5.0)

    assert hearing.silent_s == 25.0


def test_a_stall_is_in_the_verdict_with_where_it_was() -> None:
    """A reader of the verdict alone knows what happened."""
    where = "rank 1 is in `score` (rewards.py:3), and rank 0 waits for it in `all_reduce`"
    killed = Polled(at_s=99.0, attempt=1, answer=Liveness.ENDED, exit_code=-9)
    stopped = StopRequested(at_s=9.0, by=Stopper.STALL)
    state = trained(beat(310.0), stopped, killed, Diagnosed(at_s=99.0, attempt=1, where=where))

    stage, because = verdict(state, stall_limit_s=None)

    assert stage is RunStage.FAILED
    assert because.startswith(
        "stopped by the watch on progress at step 29 of 100: no sign of life for 5 min 10 s while"
    )
    assert f"usually it takes at most 1.0 s for that; {where}; it did not end, and was killed" in because
    assert f"; `where.stall_timeout` is 30 s; {where}; it did not end" in verdict(state, 30.0)[1]
    assert next(supervise(state, Limits(attempts=3))) == Start(2, resume=True)
