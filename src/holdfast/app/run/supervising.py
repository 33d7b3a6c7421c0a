"""Supervising a run to its end, or watching it while another process does."""

from msgspec import structs

from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.run.background import send_to_background
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.kept_results import load_evaluations
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.runs import Run
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.answers import run_result, with_evaluations
from holdfast.engine.run.progress import follow
from holdfast.engine.run.summary import render_summary
from holdfast.results.run import RunResult


def supervise_or_watch(
    run: Run, observer: RunObserver, *, detach: bool = False, before: RunState | None = None
) -> RunResult:
    """Supervise a run; if another process does so already, watch the run until it ends.

    Args:
        run: The run.
        observer: Follows it; may stop it or detach from it.
        detach: Return at once; a supervisor continues in the background.
        before: The state of a run that is continued, when the command looked at it: one that has ended since then is not started again.
    """
    if detach:
        return _detach(run)
    with supervising(run.folder) as mine:
        state = _supervise(run, observer, before) if mine else run.watch(observer)
    if mine and not state.stage.ended and observer.has_left():
        _detach(run)
    progress = follow(run.events())
    result = run_result(run.name, state, cost_usd=cost_usd(run.folder, state))
    result = with_evaluations(result, load_evaluations(state.evaluated))
    return structs.replace(result, summary=render_summary(progress, run.counted_until_s(state)))


def _detach(run: Run) -> RunResult:
    """Leave a run to a supervisor in the background; return its result so far."""
    send_to_background(run)
    return run_result(run.name, run.state())


def _supervise(run: Run, observer: RunObserver, before: RunState | None) -> RunState:
    """Supervise a run, and report its end, unless another process has just done so; return its state."""
    found = run.state()
    if found.stage.ended and found != before:
        return found
    from holdfast.app.run.diagnosing import diagnose_attempt  # imported here, so that a watcher starts soon
    from holdfast.app.run.reporting import write_report

    state = run.supervise(observer, diagnose_attempt)
    if state.stage.ended:
        write_report(run)
    return state
