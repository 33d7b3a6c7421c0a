"""Opening a run by the name that a person gives it: its own, that of its job or its job's file, the beginning of one, or the path of its folder."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.arguments import PathName
from holdfast.app.run.runs import Run
from holdfast.app.run_paths import folder_of_runs, hint_at_parents
from holdfast.core.errors import UsageError
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.run.event import RunStage
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.naming import describe_several, is_one_job, job_of_run, matching_runs, name_job


def open_run(name: PathName, runs: PathName | None) -> Run:
    """Return the one run that a name means.

    Raises:
        UsageError: There is none, or more than one.
    """
    wanted, base, ledger, matching = _matching(name, runs)
    if len(matching) > 1:
        what, newest = describe_several(wanted, matching), matching[-1]
        raise UsageError(what, where=str(base), fix=f"name one of {', '.join(matching)}; {newest} is the newest")
    return Run(name=matching[0], folder=base / matching[0], ledger=ledger)


def open_newest_run(name: PathName, runs: PathName | None) -> tuple[Run, tuple[str, ...]]:
    """Return the run that a name means, and the older runs of the same job if it is the job's name.

    Raises:
        UsageError: There is none, or several runs of other jobs begin so.
    """
    wanted, base, ledger, matching = _matching(name, runs)
    if not is_one_job(wanted, matching):
        return open_run(name, runs), ()
    return Run(name=matching[-1], folder=base / matching[-1], ledger=ledger), tuple(matching[:-1])


def open_running_run(name: PathName, runs: PathName | None) -> Run:
    """Return the run that a name means; of several, the only one that has not ended.

    Raises:
        UsageError: There is none, or several match.
    """
    _, base, ledger, matching = _matching(name, runs)
    found = [Run(name=each, folder=base / each, ledger=ledger) for each in matching]
    running = [each for each in found if not each.state().stage.ended]
    return running[0] if len(running) == 1 else open_run(name, runs)


def open_resumable_run(name: PathName, runs: PathName | None) -> Run:
    """Return the run that a name means; of several of one job, the newest that can be continued.

    Raises:
        UsageError: There is none, or several runs of other jobs begin so.
    """
    wanted, base, ledger, matching = _matching(name, runs)
    if not is_one_job(wanted, matching):
        return open_run(name, runs)
    newest_first = [Run(name=each, folder=base / each, ledger=ledger) for each in reversed(matching)]
    return next((each for each in newest_first if _is_resumable(each.state())), newest_first[0])


def _is_resumable(state: RunState) -> bool:
    is_open = state.stage not in (RunStage.SUCCEEDED, RunStage.SCHEDULED) or state.lacks_export
    return is_open and not state.refused_by


def _matching(name: PathName, runs: PathName | None) -> tuple[str, Path, Ledger, list[str]]:
    """Return the name of the run or the job, the runs folder, its ledger, and the runs that the name means, oldest first.

    Raises:
        UsageError: There is none.
    """
    base = folder_of_runs(name, runs)
    ledger = Ledger(base)
    known = ledger.runs()
    wanted = Path(name).name  # a folder's path is as good
    if not wanted:
        raise UsageError("the run has no name", where=str(base), fix="`holdfast runs` lists the runs")
    if matching := matching_runs(wanted, known):
        return wanted, base, ledger, list(matching)
    if matching := _runs_of_file(wanted, known):
        return job_of_run(matching[0]), base, ledger, matching
    near = get_close_matches(wanted, known, n=3)
    hint = f"one of {', '.join(near)}" if near else hint_at_parents(wanted, base)
    fix = hint or "`holdfast runs` lists them; --runs names their folder"
    raise UsageError(f"no run is called {wanted!r}", where=str(base), fix=fix)


def _runs_of_file(name: str, known: Sequence[str]) -> list[str]:
    """Return the runs of the job that has its name from a job file; none if the name is not one of a job file."""
    if target_kind(name) is not TargetKind.JOB:
        return []
    return [run for run in known if job_of_run(run) == name_job(None, name)]
