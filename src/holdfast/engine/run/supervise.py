"""The supervisor: a generator that decides what to do.

It does no input or output. It yields an action, is sent the events that resulted from it, and returns the last state. Tests send
it events by hand; `drive` sends it those that the ledger holds.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Event, ModelExported, RunStage, Stopper, StopRequested
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.recover.policy import failed_by_itself, is_end_requested
from holdfast.engine.recover.promises import broken_promises
from holdfast.engine.run.actions import (
    Action,
    Close,
    EvaluateModel,
    ExportModel,
    FindCause,
    Kill,
    Note,
    Pause,
    Poll,
    Start,
    Stop,
    TakeStacks,
    Verify,
)
from holdfast.engine.run.spending import Budget, is_used_up
from holdfast.engine.run.stalls import Hearing, Silence, judge_silence, silence_trouble
from holdfast.engine.run.troubles import new_troubles
from holdfast.engine.run.verdict import verdict

DRAIN_POLL_S: Final = 1.0
"""Seconds between two polls while the rest of a log is awaited, of a training process that has reported its end."""
Flow = Generator[Action, Sequence[Event], RunState]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a run.

    Attributes:
        attempts: How many attempts may start by themselves.
        timeout_s: Seconds that an attempt, and those that follow it by themselves, may take; None for no limit.
        poll_s: Seconds between two polls.
        grace_s: Seconds that an attempt may take to save and end after a stop was requested; then it is killed.
        evaluates: Whether the final model is evaluated.
        exports: Whether the final model is exported.
        ends_spikes: Whether an attempt is stopped whose loss spikes and stays high, if another can follow: it may come back.
        stall_s: Seconds without a sign of life after which an attempt is stopped, instead of what its own rhythm says; None for that.
        budget: What all attempts together may cost; None for no limit.
    """

    attempts: int = 1
    timeout_s: float | None = None
    poll_s: float = 0.5
    grace_s: float = 600.0
    evaluates: bool = False
    exports: bool = False
    ends_spikes: bool = False
    stall_s: float | None = None
    budget: Budget | None = None


STALL_GRACE_S: Final = 60.0
"""Seconds that an attempt which stalled gets at least to save and end: most of them hang, and do neither."""


def supervise(state: RunState, limits: Limits) -> Flow:
    """Bring a run to its end from any state: not started, half started, running, or to be resumed."""
    state = yield from _train(state, limits)
    for repository in state.unverified:
        state = fold((yield Verify(repository)), state)
    state = yield from _evaluate_and_export(state, limits)
    return fold((yield Close(*verdict(state, limits.stall_s))), state)


def _train(state: RunState, limits: Limits) -> Flow:
    """Follow attempt after attempt, until one succeeds or no other is to be started."""
    state = yield from _take_up(state, limits)
    limits = _limits_of_attempt(state, limits)
    state = yield from _follow(state, limits)
    while failed_by_itself(state) and len(state.attempts) < limits.attempts:
        limits = _limits_left(state, limits)
        state = fold((yield FindCause(limits.attempts)), state)
        if (pause_s := _pause_s(state)) is None:
            break
        state = yield from _pause(state, pause_s, limits)
        if is_end_requested(state):
            break
        state = yield from _start(state, Start(len(state.attempts) + 1, resume=True, timeout_s=limits.timeout_s))
        state = yield from _follow(state, limits)
    return state


def _evaluate_and_export(state: RunState, limits: Limits) -> Flow:
    if limits.evaluates and state.has_trained and state.evaluated is None:
        events = yield EvaluateModel()
        state = fold(events, state)
        if any(isinstance(each, ModelExported) for each in events):
            return state  # a person who stops the evaluation stops the export, too
    return fold((yield ExportModel()), state) if _export_is_due(state, limits) else state


def _export_is_due(state: RunState, limits: Limits) -> bool:
    """True if the final model is to be exported: after an export that failed, once more."""
    return limits.exports and state.has_trained and (state.exported is None or state.lacks_export)


def _follow(state: RunState, limits: Limits) -> Flow:
    """Follow the newest attempt to its end; stop it when its time is over or it stalls, and kill it if it does not stop."""
    hearing, force = Hearing(), _Force(state)
    while _alive(state):
        state = fold((yield Poll(_poll_after_s(state, limits))), state)
        current = _alive(state)
        if current is None or current.drains:
            continue  # of one that drains, its verdict is how it ended: there is nothing to stop
        has_news = current.reports != hearing.reports
        hearing = hearing.after(current, state.seen_s, limits.poll_s)
        if not state.stop:
            state = yield from _watch(state, current, hearing, limits, has_news=has_news)
            force.begin(state)
        elif last := force.due(state, limits):
            state = fold((yield last), state)
    return state if state.stop else (yield from _note_troubles(state))  # all steps may have come with the end


def _poll_after_s(state: RunState, limits: Limits) -> float:
    """Return the seconds until the next poll: few if the training process has told its end, so that only the rest of its log is awaited."""
    current = state.current
    is_told = current is not None and current.drains and current.end is not None
    return min(limits.poll_s, DRAIN_POLL_S) if is_told else limits.poll_s


def _alive(state: RunState) -> AttemptState | None:
    """Return the newest attempt, unless it has ended."""
    return None if state.current is None or state.current.stage.ended else state.current


class _Force:
    """What is tried, one after the other, against an attempt that does not stop."""

    def __init__(self, state: RunState) -> None:
        self._since_s = state.stop_s if state.stop else None
        self._actions: Iterator[Action] = iter((TakeStacks(), Kill()))

    def begin(self, state: RunState) -> None:
        """Note that a stop is requested now, if one is: the attempt has its time to save and end from here on."""
        self._since_s = state.seen_s if state.stop else None

    def due(self, state: RunState, limits: Limits) -> Action | None:
        """Return the action that is due now, if the attempt has had its time to save and end."""
        if self._since_s is None:
            self._since_s = state.seen_s  # the request may be from another process, with another clock
        return next(self._actions, None) if state.seen_s - self._since_s > _grace_s(state, limits) else None


def _note_troubles(state: RunState) -> Flow:
    """Note the signs of trouble that the newest attempt shows."""
    for trouble in tuple(new_troubles(state.current)) if state.current else ():
        state = fold((yield Note(trouble)), state)
    return state


def _watch(state: RunState, current: AttemptState, hearing: Hearing, limits: Limits, *, has_news: bool) -> Flow:
    """Watch an attempt whose end was not requested: its silence, its limits, and what its news show."""
    state = yield from _judge(state, current, hearing, limits)
    return (yield from _note_troubles(state)) if has_news else state


def _judge(state: RunState, current: AttemptState, hearing: Hearing, limits: Limits) -> Flow:
    """Note that an attempt is silent; stop it if there is a reason. A silent one shows its stacks first."""
    silence = judge_silence(current, hearing, limits.stall_s)
    if silence and (trouble := silence_trouble(current)):
        state = fold((yield TakeStacks()), state)
        return fold((yield Note(trouble)), state)
    if by := _reason_to_stop(state, current, limits, silence):
        if by is Stopper.STALL:
            state = fold((yield TakeStacks()), state)
        state = fold((yield Stop(by)), state)
    return state


def _grace_s(state: RunState, limits: Limits) -> float:
    """Return the seconds that an attempt may take to save and end. One that stalled gets less: if it hangs, it does neither."""
    current = state.current
    if state.stop is not Stopper.STALL or current is None:
        return limits.grace_s
    saves = current.rhythm.limits("save")
    return min(limits.grace_s, max(STALL_GRACE_S, saves.conspicuous_s if saves else 0.0))


def _limits_of_attempt(state: RunState, limits: Limits) -> Limits:
    """Return the limits of the newest attempt: another supervisor may have given it what was left of the timeout."""
    current = state.current
    return limits if current is None or current.timeout_s is None else replace(limits, timeout_s=current.timeout_s)


def _limits_left(state: RunState, limits: Limits) -> Limits:
    """Return the limits of what follows an attempt: all attempts that follow one another by themselves share one timeout."""
    if is_used_up(state, limits.budget):
        return replace(limits, attempts=0)
    if limits.timeout_s is None or state.current is None:
        return limits
    left_s = limits.timeout_s - (state.seen_s - state.current.running_s)
    return replace(limits, timeout_s=left_s, attempts=limits.attempts if left_s > 0 else 0)


def _pause_s(state: RunState) -> float | None:
    """Return the pause before the next attempt; None if there is to be none."""
    return state.current.diagnosed.next_s if state.current and state.current.diagnosed else None


def _pause(state: RunState, left_s: float, limits: Limits) -> Flow:
    """Pause before the next attempt, until a stop is requested."""
    while left_s > 0 and not is_end_requested(state):
        state = fold((yield Pause(min(left_s, limits.poll_s))), state)
        left_s -= limits.poll_s
    return state


def _take_up(state: RunState, limits: Limits) -> Flow:
    """Start the attempt that is due, if any: the first, a half-started one again, or the one after an attempt that ended."""
    if _has_trained_without_verdict(state):
        return state
    current, following = _alive(state), len(state.attempts) + 1
    if current is None:
        return (yield from _start(state, Start(following, resume=bool(state.attempts))))
    if not current.id:  # perhaps it was accepted, has run and was killed since then
        again = Start(current.number, resume=current.number > 1, timeout_s=current.timeout_s)
        state = yield from _start(state, again, stop=state.stop)
        if _alive(state) is None:
            return state
    state = fold((yield Poll(limits.poll_s)), state)
    return (yield from _start(state, Start(following, resume=True))) if _was_killed(state) else state


def _has_trained_without_verdict(state: RunState) -> bool:
    """True if only what follows training is missing: the export, or the verdict."""
    has_trained = state.current is not None and state.current.stage is RunStage.SUCCEEDED
    return has_trained and (not state.stage.ended or state.lacks_export)


def _start(state: RunState, start: Start, stop: Stopper | None = None) -> Flow:
    """Start an attempt, and stop it if that was requested before the backend had an id to stop it by."""
    events = yield start
    asked = [each.by for each in events if isinstance(each, StopRequested)]  # the start of an attempt forgets them
    state = fold(events, state)
    stop = state.stop or next(reversed(asked), stop)
    return fold((yield Stop(stop)), state) if stop and _alive(state) else state


def _is_over_time(attempt: AttemptState, now_s: float, limits: Limits) -> bool:
    """True if an attempt has run for longer than its timeout; while it waits for hardware, it does not run."""
    return limits.timeout_s is not None and not attempt.waiting and now_s - attempt.running_s > limits.timeout_s


def _reason_to_stop(state: RunState, current: AttemptState, limits: Limits, silence: Silence | None) -> Stopper | None:
    """Return why an attempt whose end was not requested is stopped; None if it is not."""
    if _is_over_time(current, state.seen_s, limits):
        return Stopper.TIMEOUT
    if is_used_up(state, limits.budget):
        return Stopper.BUDGET
    if silence == "stalled":
        return Stopper.STALL
    if _is_lost(state, current):
        return Stopper.NAN
    if limits.ends_spikes and current.loss_range.has_spiked and len(state.attempts) < limits.attempts:
        return Stopper.SPIKE
    return Stopper.PROMISE if any(broken_promises(state)) else None


def _is_lost(state: RunState, current: AttemptState) -> bool:
    """True if a job file's training has lost its weights. One in float16 is left alone, since its trainer passes over such steps."""
    if not (current.lost and current.lost.is_proven) or not state.about.method:
        return False
    config = current.started.config if current.started else {}
    return not config.get("fp16") and not config.get("deepspeed")


def _was_killed(state: RunState) -> bool:
    """True if the newest attempt ended without reporting an end, and no stop was requested."""
    current = state.current
    if current is None or current.stage is not RunStage.FAILED or current.end or current.because or state.stop:
        return False
    return current.exit_code is None or current.exit_code < 0
