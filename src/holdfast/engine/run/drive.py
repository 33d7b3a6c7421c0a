"""The loop that does what the supervisor decides, and writes down what results from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from holdfast.core.errors import BackendError, UnreachableError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import (
    Closed,
    Delivered,
    Diagnosed,
    Event,
    Liveness,
    ModelEvaluated,
    ModelExported,
    Polled,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
    last_sign_s,
)
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.run_state import RunState, changes, fold
from holdfast.engine.recover.policy import decide
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
from holdfast.engine.run.delivery import Delivery
from holdfast.engine.run.resuming import events_of_refusal
from holdfast.engine.run.supervise import Limits, supervise
from holdfast.ports import AttemptOutput, Backend, Clock, Order, Orders, PollResult, Store

Answer = TypeVar("Answer")
LONGEST_PAUSE_POLLS: Final = 12
"""The longest pause between two calls of a backend that cannot be reached: as long as so many pauses between two polls."""
STOPPED: Final = "stopped by a person"
DRAINING: Final = "ended; the rest of its log is awaited"
"""The phase of an attempt that has ended, while some of its output has not arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What the loop needs from outside.

    Attributes:
        store: The ledger.
        backend: Where attempts run.
        output: What they write.
        clock: The time, and sleep.
        prepare: Makes the folder of the attempt of a number (`prepare_run` of `app` rehearses the job, before); its second argument is whether the attempt continues from a checkpoint.
        diagnose: Finds out why the newest attempt failed, given its number and the time.
        verify: Finds out whether what was pushed to a repository is there, given the repository's name and the run's state.
        evaluate: Evaluates the final model, given what it calls again and again, so that the person's orders are heard.
        export: Exports it, likewise.
        orders: The orders of the person at the terminal.
        observe: Called with the state and the new events after each action.
        tell: Called with the state and the new events of the ledger, for people who do not look at the run.
        plan: What attempts start from; without it nothing of the job is changed for another attempt.
    """

    store: Store
    backend: Backend
    output: AttemptOutput
    clock: Clock
    prepare: Callable[[int, bool], Attempt]
    diagnose: Callable[[int, float], Diagnosed]
    verify: Callable[[str, RunState], Delivery]
    evaluate: Callable[[Callable[[], None]], ModelEvaluated]
    export: Callable[[Callable[[], None]], ModelExported]
    orders: Orders
    observe: Callable[[RunState, Sequence[Event]], None]
    plan: Plan | None = None
    tell: Callable[[RunState, Sequence[Event]], None] = lambda _state, _events: None


def drive(run: str, limits: Limits, dependencies: Dependencies) -> RunState:
    """Carry out the actions of `supervise` until the run is closed or the person detaches.

    Every event is in the ledger before `supervise` gets it. So is what other processes write there in the meantime, such as
    a stop from another terminal.
    """
    loop = _Loop(run, dependencies, exports=limits.exports)
    loop.catch_up()
    flow = supervise(loop.state, limits)
    action = next(flow)
    while True:
        try:
            action = flow.send(loop.carry_out(action))
        except (_Detached, StopIteration):
            return loop.state


class _Detached(Exception):  # noqa: N818 - an order, not an error
    """The person detached."""


class _Stopped(Exception):  # noqa: N818 - an order, not an error
    """The person stopped what follows training."""


class _Loop:
    """Carries out the actions of one run, and remembers how far it has read the ledger."""

    def __init__(self, run: str, dependencies: Dependencies, *, exports: bool) -> None:
        self._run, self._dependencies, self._exports = run, dependencies, exports
        self._read = 0
        self._order: Order | None = None
        self._watched = False  # whether the newest attempt was seen alive
        self._news: list[Event] = []  # of the action that is being carried out
        self.state = RunState()
        self._does: Mapping[type[Action], Callable[[Any], Sequence[Event] | None]] = {  # events that need not be stored
            Start: self._start,
            Poll: self._poll,
            Pause: self._pause,
            Stop: self._stop,
            TakeStacks: self._take_stacks,
            Kill: self._kill,
            Note: self._note,
            FindCause: self._find_cause,
            Verify: self._verify,
            EvaluateModel: self._evaluate,
            ExportModel: self._export,
            Close: self._close,
        }

    def carry_out(self, action: Action) -> Sequence[Event]:
        """Carry out an action; return the events that resulted from it.

        Raises:
            _Detached: The person detached.
        """
        self._news = []
        self.catch_up(*(self._does[type(action)](action) or ()))
        return self._news

    def catch_up(self, *unwritten: Event) -> None:
        """Apply the new events of the ledger to the state, then those that need not be stored."""
        stored = self._dependencies.store.read(self._run, after=self._read)
        self._read = stored[-1][0] if stored else self._read
        events = (*(event for _, event in stored), *unwritten)
        self.state = fold(events, self.state)
        self._dependencies.observe(self.state, events)
        self._dependencies.tell(self.state, events)
        self._news += events

    @property
    def _now(self) -> float:
        return self._dependencies.clock.now_s()

    @property
    def _current(self) -> AttemptState:
        if self.state.current is None:
            raise AssertionError("an attempt is started before it is polled, stopped or killed")
        return self.state.current

    def _record(self, *events: Event) -> None:
        self._dependencies.store.append(self._run, events)

    def _start(self, start: Start) -> None:
        backend, number = self._dependencies.backend, start.number
        attempt = self._reach(lambda: self._dependencies.prepare(number, start.resume))
        attempt = replace(attempt, timeout_s=start.timeout_s)
        starting = Starting(
            at_s=self._now,
            attempt=number,
            backend=backend.capabilities.name,
            resume_from=attempt.resume_from,
            passed_over=attempt.passed_over,
            timeout_s=start.timeout_s,
        )
        self._record(starting)
        self.catch_up()  # what goes wrong from here on belongs to this attempt
        if attempt.refused:
            self._record(*events_of_refusal(attempt, self._now))
            return
        try:
            attempt_id = self._reach(lambda: backend.submit(attempt))
            self._watched = True
            self._record(Started(at_s=self._now, attempt=number, id=attempt_id))
        except BackendError as error:
            self._record(Polled(at_s=self._now, attempt=number, answer=Liveness.ENDED, because=error.what))

    def _reach(self, call: Callable[[], Answer]) -> Answer:
        """Return the answer to a call of the backend; call again, ever more slowly, while the backend cannot be reached.

        Raises:
            _Detached: The person detached meanwhile.
        """
        poll_s = self._dependencies.backend.capabilities.poll_s
        pause_s = poll_s
        while True:
            try:
                return call()
            except UnreachableError as error:
                self._dependencies.observe(self.state, [self._unknown(error.what)] if self.state.current else [])
            self._order = self._take_order()
            if self._order == "detach":
                raise _Detached
            self._dependencies.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_POLLS * poll_s)

    def _take_order(self) -> Order | None:
        """Return the person's order; one that could not be carried out yet, unless there is a newer one."""
        order, self._order = self._order, None
        return self._dependencies.orders.take() or order

    def _poll(self, poll: Poll) -> Sequence[Event]:
        self._obey_or_wait(poll.after_s)
        polled, reports = self._look()
        news: list[Event] = [*reports, polled] if changes(fold(reports, self.state), polled) else [*reports]
        if news:
            self._record(*news)
        return () if polled in news else (polled,)

    def _obey_or_wait(self, after_s: float) -> None:
        """Carry out the person's order to the attempt; without one, wait."""
        match self._take_order():
            case "detach":
                raise _Detached
            case "kill":
                self._record(self._kill_request())
                self._kill(Kill())
            case "stop" if not self.state.stop:
                self._stop(Stop(Stopper.PERSON))
            case "stop" if self.state.stop and not self.state.stop.is_final:
                # It was told to end; a second signal would keep it from saving.
                self._record(StopRequested(at_s=self._now, by=Stopper.PERSON))
            case _:
                self._dependencies.clock.sleep(after_s)

    def _kill_request(self) -> StopRequested:
        """Return what is recorded of a person's kill, so that the run counts as cancelled, and each terminal says that it is killed."""
        stop = self.state.stop
        if stop is None or not stop.is_final:
            return StopRequested(at_s=self._now, by=Stopper.PERSON, kills=True)
        return StopRequested(at_s=self._now, by=stop, because=self.state.stop_because, kills=True)

    def _look(self) -> tuple[Polled, Sequence[Event]]:
        """Return the state of the attempt, and its new reports. It has ended when all that it wrote has arrived."""
        look = self._dependencies.backend.poll(self._current.id)
        polled = Polled(
            at_s=self._now,
            attempt=self._current.number,
            answer=look.answer,
            exit_code=look.exit_code,
            because=look.because,
            phase=look.phase,
            waiting=look.waiting,
            ended_s=look.ended_s,
            usage=look.usage,
        )
        ended = look.answer is Liveness.ENDED
        output = self._dependencies.output.read(self._current, self._now, ended=ended)
        if ended and (output.because or not output.complete):
            phase = f"{DRAINING}: {output.because}" if output.because else DRAINING
            polled = replace(
                polled, answer=Liveness.ALIVE, exit_code=None, because="", phase=phase, drains=True, ended_s=None
            )
        elif output.because:
            polled = self._unknown(output.because)
        elif ended:
            self._reach(lambda: self._dependencies.output.fetch(self._current))
            polled = replace(polled, ended_s=self._ended_s(look, output.events))
        self._watched |= look.answer is Liveness.ALIVE
        return polled, output.events

    def _ended_s(self, look: PollResult, reports: Sequence[Event]) -> float | None:
        """Return when an attempt ended: as the backend says, or at its last event if it had no supervisor; None for now."""
        if look.ended_s is not None or self._watched:
            return look.ended_s
        stored = (event for _, event in self._dependencies.store.read(self._run))
        return last_sign_s((*stored, *reports), self._current.number)

    def _unknown(self, because: str) -> Polled:
        return Polled(at_s=self._now, attempt=self._current.number, answer=Liveness.UNKNOWN, because=because)

    def _pause(self, pause: Pause) -> None:
        match self._take_order():
            case "detach":
                raise _Detached
            case "stop" | "kill":  # nothing runs that could be signalled
                self._record(StopRequested(at_s=self._now, by=Stopper.PERSON))
            case _:
                self._dependencies.clock.sleep(pause.for_s)

    def _stop(self, stop: Stop) -> None:
        self._record(StopRequested(at_s=self._now, by=stop.by))
        self._reach(lambda: self._dependencies.backend.stop(self._current.id))

    def _take_stacks(self, _: TakeStacks) -> None:
        self._reach(lambda: self._dependencies.backend.request_stacks(self._current.id))

    def _kill(self, _: Kill) -> None:
        self._reach(lambda: self._dependencies.backend.kill(self._current.id))

    def _note(self, note: Note) -> None:
        self._record(TroubleNoted(at_s=self._now, attempt=self._current.number, trouble=note.trouble))

    def _find_cause(self, find: FindCause) -> None:
        cause = self._dependencies.diagnose(self._current.number, self._now)
        self._record(*decide(cause, self.state, find.attempts, self._dependencies.plan))

    def _verify(self, verify: Verify) -> None:
        name, found = verify.repository, self._dependencies.verify(verify.repository, self.state)
        self._record(Delivered(at_s=self._now, repository=name, verdict=found.verdict, because=found.because))

    def _evaluate(self, _: EvaluateModel) -> None:
        try:
            self._record(self._dependencies.evaluate(self._heed))
        except _Stopped:
            self._record(ModelEvaluated(at_s=self._now, verdict="skipped", because=STOPPED))
            if self._exports:
                self._record(ModelExported(at_s=self._now, verdict="skipped", because=STOPPED))

    def _export(self, _: ExportModel) -> None:
        try:
            self._record(self._dependencies.export(self._heed))
        except _Stopped:
            self._record(ModelExported(at_s=self._now, verdict="skipped", because=STOPPED))

    def _heed(self) -> None:
        """Take the person's order while the final model is evaluated or exported.

        Raises:
            _Detached: The person detached.
            _Stopped: The person stopped it.
        """
        match self._take_order():
            case "detach":
                raise _Detached
            case "stop" | "kill":
                raise _Stopped
            case None:
                pass

    def _close(self, close: Close) -> None:
        self._record(Closed(at_s=self._now, stage=close.stage, because=close.because))
