"""The logs that a diagnosis is made from: those that are named, or those of a run, with what belongs to them."""

from collections.abc import Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.adapters.foreign_files import is_there
from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.log_files import open_logs
from holdfast.app.arguments import PathName, runs_folder
from holdfast.core.errors import UsageError
from holdfast.core.job.target_kind import STANDARD_INPUT, TargetKind, target_kind
from holdfast.engine.diagnose.endings import ENDING, as_log, ending_evidence, read_ending
from holdfast.engine.diagnose.history import RunHistory

if TYPE_CHECKING:
    from holdfast.app.run.runs import Run  # for the type alone


def find_sources(named: Sequence[str], ended: str, runs: PathName | None) -> RunHistory:
    """Return the named logs, or those of the named run, and what belongs to them.

    A file or folder comes before a run of the same name; the folder of a run is the run.

    Raises:
        UsageError: There are none.
    """
    jobs, logs = _jobs_and_logs(named)
    if jobs or len(logs) > 1 or logs[0] == STANDARD_INPUT:
        return _of_files(logs, ended, jobs)
    path = Path(logs[0])
    if is_there(path / JOURNAL):
        folder = path.resolve()
        return _of_run(folder.name, ended, folder.parent)
    return _of_path(logs[0], ended, runs) if is_there(path) else _of_run(logs[0], ended, runs)


def _jobs_and_logs(named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the scripts and job files that are named, and the logs.

    Raises:
        UsageError: There are several jobs, or no log.
    """
    jobs = [name for name in named if _is_job(name)]
    logs = [name for name in dict.fromkeys(named) if name not in jobs]  # a log that is named twice is read once
    if len(jobs) > 1:
        what, fix = "only one script or job file can be named", "name the one that this job was started with"
        raise UsageError(what, where=", ".join(jobs), fix=fix)
    if not logs:
        fix = "name a log, a run, or `-` for standard input"
        raise UsageError("no log is named", where="holdfast diagnose", fix=fix)
    return jobs, logs


def _of_files(logs: Sequence[str], ended: str, jobs: Sequence[str] = ()) -> RunHistory:
    known = [read_ending(ended)] if ended else []
    return RunHistory(
        files=[*open_logs(logs), *([as_log(known, ENDING)] if known else [])],
        knows=tuple(ending_evidence(known, ENDING)),
        needs=tuple(need for each in known for need in each.needs),
        job=next(iter(jobs), ""),
    )


def _of_path(path: str, ended: str, runs: PathName | None) -> RunHistory:
    """Return the logs of a file or folder, and the run that is called so too.

    Raises:
        UsageError: It holds none.
    """
    namesake = _run_called(path, runs)
    try:
        return replace(_of_files([path], ended), namesake=namesake)
    except UsageError as error:
        if not namesake:
            raise
        fix = f"name one of its files; the run is {namesake}: move the folder, or give the path of the run's folder"
        raise UsageError(error.what, where=path, fix=fix) from None


def _run_called(name: str, runs: PathName | None) -> str:
    """Return the newest run that a name means; empty if there is none."""
    if "/" in name or not runs_folder(runs).is_dir():
        return ""
    try:
        return _newest_run(name, runs).name
    except UsageError:
        return ""


def _of_run(name: str, ended: str, runs: PathName | None) -> RunHistory:
    from holdfast.app.run.history import read_history  # few diagnoses are of a run

    try:
        past = read_history(_newest_run(name, fspath(runs) if runs else None))
    except UsageError as error:
        what = f"{name} is not a log, and {error.what}"
        raise UsageError(what, where=name, fix=f"name an existing file, or a run: {error.fix}") from None
    if ended:
        what, fix = "how a run ended is in its ledger", "leave out --ended, or name the log files instead of the run"
        raise UsageError(what, where=f"--ended {ended}", fix=fix)
    return past


def _newest_run(name: str, runs: PathName | None) -> "Run":
    """Return the newest run that a name means.

    Raises:
        UsageError: There is none.
    """
    from holdfast.app.run.opening import open_newest_run  # few diagnoses are of a run

    return open_newest_run(name, runs)[0]


def _is_job(name: str) -> bool:
    """True if a name is that of a script, a notebook, a shell script or a job file that is there."""
    return target_kind(name) is not TargetKind.OTHER and Path(name).is_file()
