"""Stopping a run from outside its supervisor. It imports little, so that a person who wants a run to stop does not wait."""

import os

from holdfast.adapters.clock import SystemClock
from holdfast.app.run.backends import attach_backend, require_backend
from holdfast.app.run.runs import Run
from holdfast.core.run.event import RunScheduled, RunStage, Stopper, StopRequested
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.answers import run_result
from holdfast.results.run import RunResult


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
    require_backend(scheduled.backend).schedules(os.environ).remove(scheduled.schedule.id)
    run.close(RunStage.CANCELLED, "its schedule was removed")
    return run_result(run.name, run.state())


def cancel_unstarted(run: Run) -> RunResult:
    """Close a run that was stopped before its first attempt, and return its result."""
    from holdfast.app.run.reporting import write_report  # most stops write none

    run.close(RunStage.CANCELLED, "stopped before it was started")
    write_report(run)
    return run_result(run.name, run.state())
