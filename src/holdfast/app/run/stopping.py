"""Stopping a run. It imports little, so that a person who wants a run to stop does not wait."""

import os

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.arguments import PathName
from holdfast.app.run.backends import attach_backend, open_schedules
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.opening import open_running_run
from holdfast.app.run.runs import Run
from holdfast.app.run.supervising import supervise_or_watch
from holdfast.core.errors import UsageError
from holdfast.core.event import RunScheduled, RunStage, Stopper, StopRequested
from holdfast.core.run_state import RunState
from holdfast.engine.run.answers import run_result
from holdfast.results.run import RunResult


def stop(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> RunResult:
    """Stop a run after it saves a checkpoint; return when it has ended. If a stop was requested before, kill it.

    Of a scheduled run, the schedule is removed. Jobs that it has started go on.

    >>> import holdfast
    >>> holdfast.stop("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'cancelled'

    Raises:
        UsageError: There is no such run, or it is not running.
        BackendError: The token may not remove the schedule.
        UnreachableError: It is not known whether the schedule was removed.
    """
    opened = open_running_run(run, runs)
    state = opened.state()
    if state.stage.ended:
        raise UsageError(f"{opened.name} is not running: {state.stage}", where=str(opened.folder), fix="nothing to do")
    request_stop(opened, state, Stopper.PERSON)
    if state.current is None:
        return _stop_unstarted(opened)
    return supervise_or_watch(opened, observer, detach=False)


def request_stop(run: Run, state: RunState, by: Stopper, because: str = "") -> None:
    """Ask a run to save and end, from outside of its supervisor. A person who asks again has it killed.

    Args:
        run: The run.
        state: Its state.
        by: Who asks.
        because: Why; empty if that follows from who it is.
    """
    run.ledger.append(run.name, [StopRequested(at_s=SystemClock().now_s(), by=by, because=because)])
    if state.current and state.current.id:
        backend = attach_backend(state.current.backend)
        asks_again = by is Stopper.PERSON and state.stop is Stopper.PERSON
        end = backend.kill if asks_again else backend.stop
        end(state.current.id)


def unschedule(run: Run, scheduled: RunScheduled) -> RunResult:
    """Remove the schedule of a run, and close the run.

    Raises:
        BackendError: The token may not remove it.
        UnreachableError: It is not known whether it was removed.
    """
    open_schedules(scheduled.backend, os.environ).remove(scheduled.schedule.id)
    run.close(RunStage.CANCELLED, "its schedule was removed")
    return run_result(run.name, run.state())


def _stop_unstarted(run: Run) -> RunResult:
    """Close a run that has no attempt, unless another process is preparing it: that process closes it itself."""
    with supervising(run.folder) as mine:
        state = run.state()
        if not mine:
            return run_result(run.name, state)
        return unschedule(run, state.scheduled) if state.scheduled else cancel_unstarted(run)


def cancel_unstarted(run: Run) -> RunResult:
    """Close a run that was stopped before its first attempt, and return its result."""
    from holdfast.app.run.reporting import write_report  # most stops write none

    run.close(RunStage.CANCELLED, "stopped before it was started")
    write_report(run)
    return run_result(run.name, run.state())
