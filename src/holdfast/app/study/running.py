"""Running the trials of a study: so many at once as it allows, each a run like any other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.study_folder import starting_trial
from holdfast.app.run.continuing import continue_run
from holdfast.app.run.preparing import check_job
from holdfast.app.run.runs import Run
from holdfast.app.run.starting import begin_run
from holdfast.app.run.stopping import request_stop
from holdfast.app.run.supervising import supervise_or_watch
from holdfast.app.study.observing import StudyObserver, TrialOrders
from holdfast.app.study.options import StudyOptions, run_request, visible_devices
from holdfast.app.study.outcomes import TrialRun, find_runs, outcomes_of, trial_outcome
from holdfast.app.study.preparing import PreparedTrial
from holdfast.app.study.queue import TrialQueue
from holdfast.app.study.reading import StudyFile
from holdfast.core.errors import BackendError, HoldfastError, LedgerError, UnreachableError
from holdfast.core.run.event import RunStage, Stopper, training_events
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import Evaluated
from holdfast.core.study.trial import TrialOutcome
from holdfast.engine.study.pruning import Pruner
from holdfast.engine.study.spending import Spending
from holdfast.ports import Order
from holdfast.results.run import RunResult

TICK_S: Final = 0.1
"""Seconds between two looks at what was ordered."""
INTERRUPTED: Final = "it was interrupted; the same command goes on"


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run that is ready for an attempt.

    Attributes:
        run: The run.
        before: Its state before it was continued; None if it is new.
    """

    run: Run
    before: RunState | None = None


@dataclass(slots=True)
class ActiveTrial:
    """A trial that is under way.

    Attributes:
        prepared: The trial.
        run: Its run.
        slot: Which of those that run at once it is, from 0.
        orders: Passes on orders to its run.
    """

    prepared: PreparedTrial
    run: Run
    slot: int
    orders: TrialOrders


@dataclass(slots=True)
class StudyRunner:
    """Runs trials until none is left, the budget is used up, or a person stops it.

    Attributes:
        file: The study.
        options: The options.
        observer: Follows it.
        spending: What it has used of its budget.
        pruner: Says which trials are stopped early; None if none is.
        on_ended: Called after a trial has ended.
        because: Why no more trials start; empty while they do.
    """

    file: StudyFile
    options: StudyOptions
    observer: StudyObserver
    spending: Spending
    pruner: Pruner | None = None
    on_ended: Callable[[], None] = lambda: None
    because: str = ""
    is_limited: bool = False
    _shapes: dict[str, TrialOutcome | None] = field(default_factory=dict[str, TrialOutcome | None])
    _active: dict[Future[RunResult], ActiveTrial] = field(default_factory=dict[Future[RunResult], ActiveTrial])
    _refused: dict[str, TrialOutcome] = field(default_factory=dict[str, TrialOutcome])
    _devices: Sequence[str] = ()

    def run(self, waiting: TrialQueue) -> dict[str, TrialOutcome]:
        """Run trials; return those that could not be started, by the hash of their content."""
        self._devices = visible_devices()
        with ThreadPoolExecutor(self.file.study.parallel) as pool, self._detaching():
            while waiting or self._active:
                self._take_order(waiting)
                self._prune()
                if waiting and len(self._active) < self.file.study.parallel and not self._is_over(waiting):
                    self._start(pool, waiting.take(self._refused))
                elif self._active:
                    self._reap()
        return self._refused

    @contextmanager
    def _detaching(self) -> Iterator[None]:
        """Detach from all trials if the block raises: their threads would be waited for, and their trainings go on by themselves."""
        with ExitStack() as stack:
            stack.callback(self._give, "detach")
            yield
            stack.pop_all()  # nothing was raised

    def _give(self, order: Order) -> None:
        """Give an order to all trials that run."""
        for active in self._active.values():
            active.orders.give(order)

    def _is_over(self, waiting: TrialQueue) -> bool:
        """Return whether no more trials start; what waits then is dropped."""
        running = len(self._active)
        if not self.because and (because := self.spending.used_up(self.file.study.budget, running)):
            self.because, self.is_limited = because, True
        if self.because:
            waiting.close()
        return bool(self.because)

    def _take_order(self, waiting: TrialQueue) -> None:
        order = self.observer.take()
        if order:
            self._stop(order, waiting)

    def _stop(self, order: Order, waiting: TrialQueue) -> None:
        """Start no more trials, and give those that run an order."""
        self.because, self.is_limited = INTERRUPTED, False
        waiting.close()
        self._give(order)

    def _prune(self) -> None:
        """Ask the runs of trials that have fallen behind to stop."""
        if self.pruner is None:
            return
        for active in self._active.values():
            if because := self.pruner.judge(active.prepared.content, active.orders.evaluated):
                with suppress(BackendError, UnreachableError):  # then its supervisor ends it, since it does not stop
                    request_stop(active.run, active.run.state(), Stopper.STUDY, because)

    def _start(self, pool: ThreadPoolExecutor, prepared: PreparedTrial | None) -> None:
        """Prepare the run of a trial, if there is one, and have a thread supervise it."""
        if prepared is None:
            return
        taken = {active.slot for active in self._active.values()}
        slot = next(number for number in range(self.file.study.parallel) if number not in taken)
        orders = TrialOrders(self.observer)
        self.observer.is_preparing(preparing=True)
        try:
            ready = self._ready(prepared, slot, orders)
        except KeyboardInterrupt:
            self.because = INTERRUPTED
            self._give("stop")
            return
        except (HoldfastError, ExceptionGroup) as error:
            self._note(prepared, error)
            return
        finally:
            self.observer.is_preparing(preparing=False)
        if ready is not None:
            future = pool.submit(_supervise, ready, orders)
            self._active[future] = ActiveTrial(prepared, ready.run, slot, orders)

    def _ready(self, prepared: PreparedTrial, slot: int, orders: TrialOrders) -> ReadyRun | None:
        """Return the run of a trial, ready for an attempt; None if it was closed before, or another study has run it meanwhile."""
        with starting_trial(self.options.runs, prepared.content):
            before = find_runs(self.options.runs, [prepared.content]).get(prepared.content)
            if before and not before.is_open(retry=self.options.retry):
                self._end(prepared, before.run)
                return None
            return self._begin(prepared, before, slot, orders)

    def _begin(
        self, prepared: PreparedTrial, before: TrialRun | None, slot: int, orders: TrialOrders
    ) -> ReadyRun | None:
        """Return a new run of a trial, or the one that it has; None if it is refused."""
        if before is None or before.is_done:
            run = self._begin_anew(prepared, slot, orders)
            return ReadyRun(run) if run else None
        self.observer.on_started(prepared.trial, before.run.name, continued=True)
        run = self._unless_closed(prepared, continue_run(before.run, orders))
        return ReadyRun(run, before.state) if run else None

    def _begin_anew(self, prepared: PreparedTrial, slot: int, orders: TrialOrders) -> Run | None:
        """Return a new run of a trial; None if the rehearsal of an earlier trial has refused its shape."""
        if refused := self._shapes.get(prepared.shape):
            self._refuse_alike(prepared, refused)
            return None
        rehearse = self.options.rehearse and prepared.shape not in self._shapes
        request = replace(run_request(self.file, self.options, prepared, self._devices, slot), rehearse=rehearse)
        begun = begin_run(request, check_job(request, self.file.target), self.options.runs, orders)
        if (run := self._unless_closed(prepared, begun)) is None:
            return None
        self._shapes[prepared.shape] = None
        self.observer.on_started(prepared.trial, run.name, continued=False)
        return run

    def know_evaluations(self, found: Mapping[str, TrialRun]) -> None:
        """Remember the evaluations of trials that have ended: others are compared with them."""
        if self.pruner is None:
            return
        for content, trial in found.items():
            if trial.is_done:
                self.pruner.judge(content, training_events(trial.events, Evaluated))

    def know_shapes(
        self, trials: Iterable[PreparedTrial], found: dict[str, TrialRun], outcomes: Iterable[TrialOutcome]
    ) -> None:
        """Remember the shapes of jobs that were rehearsed before: those of runs that had an attempt, and those that were refused."""
        passed = {each.shape: None for each in trials if each.content in found and found[each.content].state.attempts}
        refused = {
            each.shape: outcome
            for each, outcome in zip(trials, outcomes, strict=True)
            if outcome.is_refused and not self.options.retry
        }
        self._shapes |= {**refused, **passed}

    def _refuse_alike(self, prepared: PreparedTrial, refused: TrialOutcome) -> None:
        """Refuse a trial of a shape whose rehearsal has failed."""
        outcome = replace(refused, trial=prepared.trial, content=prepared.content, run="", seconds=0.0)
        self._refused[prepared.content] = outcome
        self.observer.on_ended(outcome)

    def _unless_closed(self, prepared: PreparedTrial, begun: Run | RunResult) -> Run | None:
        """Return the run of a trial; if it was closed before its first attempt, take note of that, and return None."""
        if isinstance(begun, RunResult):
            self._note_closed(prepared, begun)
            return None
        return begun

    def _note_closed(self, prepared: PreparedTrial, result: RunResult) -> None:
        """Remember a run that was closed before its first attempt."""
        found = find_runs(self.options.runs, [prepared.content])
        (outcome,) = outcomes_of([prepared], found, self.file.study.metric)
        if result.refused_by == "rehearsal":
            self._shapes[prepared.shape] = outcome
        if result.stage is RunStage.CANCELLED:
            self.because = INTERRUPTED
        self.observer.on_ended(outcome)

    def _note(self, prepared: PreparedTrial, error: HoldfastError | ExceptionGroup[Exception]) -> None:
        """Remember why a trial could not be started; where nothing can be written, no other can be either."""
        if not isinstance(error, HoldfastError):
            raise error
        outcome = TrialOutcome(trial=prepared.trial, content=prepared.content, because=error.what, fix=error.fix)
        self._refused[prepared.content] = outcome
        if isinstance(error, LedgerError):
            self.because = f"{error.what} ({error.where}); {error.fix}"
        self.observer.on_ended(outcome)

    def _reap(self) -> None:
        """Wait a moment for a trial that ends, and take note of it."""
        ended, _ = wait(self._active, timeout=TICK_S, return_when=FIRST_COMPLETED)
        for future in ended:
            active = self._active.pop(future)
            self._note_broken(future)
            self._end(active.prepared, active.run)

    def _end(self, prepared: PreparedTrial, run: Run) -> None:
        """Take note of the end of a trial, unless a person has detached from it."""
        outcome = trial_outcome(prepared, run, self.file.study.metric)
        if outcome.stage and outcome.stage.ended:
            self.spending.add(outcome.run, outcome.seconds, prepared.job)
            self.observer.on_ended(outcome)
            self.on_ended()

    def _note_broken(self, future: Future[RunResult]) -> None:
        """Remember why the supervision of a run has broken off: its training may go on, and the next start follows it."""
        error = future.exception()
        if isinstance(error, HoldfastError):
            self.because = self.because or f"{error.what} ({error.where}); {error.fix}"
        elif error is not None:
            raise error


def _supervise(ready: ReadyRun, orders: TrialOrders) -> RunResult:
    """Supervise a run, in a thread of its own with its own connection to the ledger."""
    connected = replace(ready.run, ledger=Ledger(ready.run.folder.parent))
    return supervise_or_watch(connected, orders, before=ready.before)
