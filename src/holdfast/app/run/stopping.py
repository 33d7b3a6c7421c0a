"""Stopping a run from outside its supervisor. It imports little, so that a person who wants a run to stop does not wait."""

import os
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.adapters.clock import SystemClock
from holdfast.app.run.backends import attach_backend, require_backend
from holdfast.app.run.runs import Run
from holdfast.core.errors import UnreachableError
from holdfast.core.run.event import RunScheduled, RunStage, Stopper, StopRequested
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.verdict import verdict
from holdfast.results.run import RunResult

PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Between calls of a service that cannot be reached."""


def request_stop(run: Run, state: RunState, by: Stopper, because: str = "") -> None:
    """Ask a run to save and end, from outside of its supervisor. A person who asks again has it killed.

    Args:
        run: The run.
        state: Its state.
        by: Who asks.
        because: Why; empty if that follows from who it is.

    Raises:
        UnreachableError: The service cannot be reached. The request is recorded.
    """
    kills = by is Stopper.PERSON and state.stop is Stopper.PERSON
    run.ledger.append(run.name, [StopRequested(at_s=SystemClock().now_s(), by=by, because=because, kills=kills)])
    current = run.state().current  # it may have been accepted meanwhile
    if current and current.id:
        backend = attach_backend(current.backend)
        end = backend.kill if kills else backend.stop
        _reach(run.name, lambda: end(current.id), PAUSES_S if by is Stopper.PERSON else ())


def _reach(run: str, call: Callable[[], None], pauses_s: Sequence[float]) -> None:
    """Call a service, and again after each pause while it cannot be reached.

    Raises:
        UnreachableError: It was never reached.
    """
    for pause_s in (*pauses_s, None):
        try:
            call()
        except UnreachableError as error:
            if pause_s is None:
                fix = f"once the service answers: `holdfast stop {run}`; it ends the job at once, without a checkpoint"
                raise UnreachableError(error.what, where=error.where, fix=fix) from error
            SystemClock().sleep(pause_s)
        else:
            return


def is_idle(state: RunState) -> bool:
    """True of a run whose first or next attempt is still to start."""
    return state.current is None or state.current.stage in {RunStage.FAILED, RunStage.CANCELLED}


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
    """Close a run that was stopped before its first attempt, or between two, and return its result."""
    from holdfast.app.run.reporting import write_report  # most stops write none

    state = fold(run.events())
    _, because = verdict(state, None) if state.current else (None, "stopped before it was started")
    run.close(RunStage.CANCELLED, because)
    write_report(run)
    return run_result(run.name, run.state())
