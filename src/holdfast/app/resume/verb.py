"""Continuing a run."""

from holdfast.app.arguments import PathName
from holdfast.app.run.accepting import accept_refused_changes
from holdfast.app.run.continuing import START_ANEW, continue_run
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.opening import open_resumable_run
from holdfast.app.run.supervising import supervise_or_watch
from holdfast.core.errors import UsageError
from holdfast.core.run.event import RunStage
from holdfast.results.run import RunResult


def resume(
    run: PathName,
    *,
    accept_changes: bool = False,
    runs: PathName | None = None,
    detach: bool = False,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Continue a run from its newest complete checkpoint; if an attempt is still running, follow it instead.

    If training has succeeded and the export of its model failed, only the export is made again. If the settings differ from those that the
    checkpoint was saved with (data, learning rate, optimizer, schedule, seed, versions of libraries), the run ends before its first step.

    >>> import holdfast
    >>> holdfast.resume("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'succeeded'

    Args:
        run: Name of the run, the beginning of it, or its folder. The name of a job, or its file, means its newest run that
            can be continued.
        accept_changes: Continue with the settings because of which the last attempt did not continue from its checkpoint.
        runs: The runs folder. Default: HOLDFAST_RUNS, else `./runs`.
        detach: Return at once; a supervisor continues in the background.
        observer: Follows the run; may stop it or detach from it.

    Raises:
        UsageError: There is no such run, it has succeeded, or it was refused; or there are no changes to accept.
    """
    opened = open_resumable_run(run, runs)
    state = opened.state()
    if state.scheduled:
        fix = f"`holdfast stop {opened.name}` removes its schedule; {START_ANEW}"
        raise UsageError(f"{opened.name} is started by its schedule", where=str(opened.folder), fix=fix)
    if state.stage is RunStage.SUCCEEDED and not state.lacks_export:
        raise UsageError(f"{opened.name} has succeeded", where=str(opened.folder), fix=START_ANEW)
    if state.refused_by:
        fix = f"correct the job; {START_ANEW}"
        raise UsageError(f"{opened.name} was {state.because}", where=str(opened.folder), fix=fix)
    if accept_changes:
        state = accept_refused_changes(opened, state)
    ready = continue_run(opened, observer)
    if isinstance(ready, RunResult):
        return ready
    return supervise_or_watch(ready, observer, detach=detach, before=state)
