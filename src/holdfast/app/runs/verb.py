"""Listing runs: those of a runs folder, or what holdfast has in the account of a backend."""

import os
from pathlib import Path

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.runs import with_unread
from holdfast.core.errors import LedgerError, UsageError
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.run.answers import remaining_time, run_result
from holdfast.results.run import RemoteRunsResult, RunResult, RunsResult, UnreadableRun


def runs(
    *, runs: PathName | None = None, on: str | None = None, namespace: str | None = None
) -> RunsResult | RemoteRunsResult:
    """List the runs of a runs folder, oldest first; or what holdfast has started on a backend, from any machine.

    >>> import holdfast
    >>> [run["stage"] for run in holdfast.runs()["runs"]]  # doctest: +SKIP
    ['succeeded', 'running']

    Args:
        runs: The runs folder.
        on: A backend. Its jobs and schedules are listed, instead of the runs of a folder.
        namespace: The account there. Default: that of the token.

    Raises:
        UsageError: `runs` names no folder, `on` names no backend that lists its jobs, or the arguments do not go together.
        BackendError: The backend refuses to list them.
        UnreachableError: It did not answer.
    """
    if on is None and namespace is not None:
        raise UsageError("an account is one of a backend", where="--namespace", fix="name the backend: `--on hf-jobs`")
    if on is not None and runs is not None:
        what = "`--on` lists what a backend has, whatever runs folder it was started with"
        raise UsageError(what, where="--runs", fix="leave out --runs or --on")
    if on is not None:
        from holdfast.app.runs.remote import remote_runs  # most lists are of a folder

        return remote_runs(on, namespace)
    base = runs_folder(runs)
    if runs is not None and not base.is_dir():
        raise UsageError(f"no such folder: {runs}", where="--runs", fix="name the folder that holds the runs")
    ledger = Ledger(base)
    found: list[RunResult] = []
    unreadable: list[UnreadableRun] = []
    for name in ledger.runs():
        try:
            state = fold(ledger.outline(name))
        except LedgerError as error:
            unreadable.append(UnreadableRun(run=name, because=error.what, where=str(error.where), fix=error.fix))
            continue
        if (base / name).is_dir() or not state.stage.ended:  # a user deletes an ended run by deleting its folder
            found.append(_listed(name, base / name, state))
    unreadable += map(_misnamed, ledger.misnamed())
    return RunsResult(verb="runs", runs=found, unreadable=unreadable)


def _misnamed(folder: Path) -> UnreadableRun:
    """Return a folder whose name is no text, with its bytes spelt out."""
    name, where = (os.fsencode(path).decode(errors="backslashreplace") for path in (folder.name, folder))
    return UnreadableRun(run=name, because="its folder's name is not UTF-8", where=where, fix="rename the folder")


def _listed(name: str, folder: Path, recorded: RunState) -> RunResult:
    """Return a run as a list shows it."""
    supervised, cost = is_supervised(folder), cost_usd(folder, recorded)
    state = with_unread(folder, recorded, supervised=supervised)
    result = run_result(name, state, supervised=supervised, cost_usd=cost)
    return structs.replace(result, remaining_s=remaining_time(state, SystemClock().now_s(), supervised=supervised))
