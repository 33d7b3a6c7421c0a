"""Stopping a run. It imports little, so that a person who wants a run to stop does not wait."""

from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.arguments import PathName
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.opening import open_running_run
from holdfast.app.run.runs import Run
from holdfast.app.run.stopping import cancel_unstarted, is_idle, request_stop, unschedule
from holdfast.app.run.supervising import supervise_or_watch
from holdfast.core.errors import UsageError
from holdfast.core.run.event import Stopper
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
    if closed := _close_idle(opened):
        return closed
    return supervise_or_watch(opened, observer)


def _close_idle(run: Run) -> RunResult | None:
    """Close a run whose first or next attempt is still to start; None if another process supervises or has started it."""
    with supervising(run.folder) as mine:
        state = run.state()
        if not mine and state.current is None:
            return run_result(run.name, state)  # whoever prepares it closes it
        if not mine or state.stage.ended or not is_idle(state):
            return None
        return unschedule(run, state.scheduled) if state.scheduled else cancel_unstarted(run)
