"""Listing, showing and watching runs, and verifying checkpoints. No state changes; `show` writes a missing `report.html`."""

from contextlib import suppress
from pathlib import Path

from msgspec import UNSET, structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.foreign_files import is_folder, read_both_ends
from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.removal import read_removal
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.app.arguments import PathName, as_path, runs_folder
from holdfast.app.models.run_models import FINAL
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.kept_results import load_evaluations, load_result, read_refusals
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.opening import open_newest_run
from holdfast.app.run.runs import poll_attempt
from holdfast.core.errors import LedgerError, UsageError
from holdfast.core.run_state import RunState, fold
from holdfast.engine.run.answers import remaining_time, run_result, verify_result, with_evaluations
from holdfast.engine.run.rehearsed import summarize_rehearsal
from holdfast.results.rehearse import RehearseResult
from holdfast.results.run import LogsResult, RemoteRunsResult, RunResult, RunsResult, UnreadableRun, VerifyResult

MOST_OUTPUT = 32_000_000
"""Bytes of each stream that `logs` returns."""


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
        from holdfast.app.run.remote import remote_runs  # most lists are of a folder

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
            supervised, cost = is_supervised(base / name), cost_usd(base / name, state)
            state = _with_unread(base / name, state, supervised=supervised)
            listed = run_result(name, state, supervised=supervised, cost_usd=cost)
            found.append(
                structs.replace(listed, remaining_s=remaining_time(state, SystemClock().now_s(), supervised=supervised))
            )
    return RunsResult(verb="runs", runs=found, unreadable=unreadable)


def show(run: PathName, *, runs: PathName | None = None) -> RunResult:
    """Show the status and the result of a run. The name of a job means its newest run.

    >>> import holdfast
    >>> holdfast.show("quickstart-20261121-154501-x7")["metrics"]  # doctest: +SKIP
    {'eval_loss': 1.13, 'train_loss': 1.61}

    Raises:
        UsageError: There is no such run.
    """
    opened, others = open_newest_run(run, runs)
    supervised = is_supervised(opened.folder)
    state = _with_unread(opened.folder, opened.state(), supervised=supervised)
    if state.stage.ended and not supervised and not (opened.folder / "report.html").exists():
        from holdfast.app.run.reporting import write_report  # few runs lack a report

        with suppress(LedgerError):  # a folder that is gone, or cannot be written
            write_report(opened)  # the supervisor was killed after the verdict, before the report
    cost = cost_usd(opened.folder, state)
    result = run_result(opened.name, state, "show", supervised=supervised, cost_usd=cost)
    removal = read_removal(opened.folder)
    if FINAL in removal.removed:
        result = structs.replace(result, output=None, removed=removal.because)
    rehearsal = load_result(opened.folder, RehearseResult)
    return structs.replace(
        with_evaluations(result, load_evaluations(state.evaluated)),
        remaining_s=remaining_time(state, SystemClock().now_s(), supervised=supervised),
        refusal=read_refusals(opened, state),
        rehearsed=summarize_rehearsal(rehearsal) if rehearsal else None,
        others=others or UNSET,
    )


def logs(run: PathName, *, attempt: int | None = None, runs: PathName | None = None) -> LogsResult:
    """Return the output of a run's training process.

    >>> import holdfast
    >>> print(holdfast.logs("quickstart-20261121-154501-x7")["stderr"])  # doctest: +SKIP

    Args:
        run: Name of the run.
        attempt: Which attempt. Default: the newest.
        runs: The runs folder.

    Raises:
        UsageError: There is no such run or attempt.
    """
    opened, _ = open_newest_run(run, runs)
    attempts = {each.number for each in opened.state().attempts}
    number = attempt or max(attempts, default=0)
    if not attempts:
        what = f"{opened.name} has no output: it has not started"
        raise UsageError(what, where=str(opened.folder), fix=f"`holdfast show {opened.name}` says why")
    if number not in attempts:
        fix = f"choose one of {sorted(attempts)}"
        raise UsageError(f"{opened.name} has no attempt {number}", where=str(opened.folder), fix=fix)
    folder = opened.folder / "attempts" / str(number)
    return LogsResult(
        verb="logs",
        run=opened.name,
        attempt=number,
        folder=str(folder),
        stdout=_read(folder / "stdout.log"),
        stderr=_read(folder / "stderr.log"),
    )


def watch(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> RunResult:
    """Follow a run to its end, and return its result.

    >>> import holdfast
    >>> holdfast.watch("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'succeeded'

    Raises:
        UsageError: There is no such run.
    """
    found, _ = open_newest_run(run, runs)
    state = found.watch(observer)
    supervised, cost = is_supervised(found.folder), cost_usd(found.folder, state)
    return run_result(found.name, state, "watch", supervised=supervised, cost_usd=cost)


def verify(checkpoint: PathName) -> VerifyResult:
    """Verify that a checkpoint or model folder is complete.

    >>> import holdfast
    >>> holdfast.verify("runs/quickstart-20261121-154501-x7/model")["verdict"]  # doctest: +SKIP
    'whole'

    Raises:
        UsageError: There is no such folder.
    """
    if not is_folder(Path(as_path(checkpoint))):
        raise UsageError(f"no such folder: {checkpoint}", where=str(Path.cwd()), fix="name a checkpoint's folder")
    return verify_result(verify_checkpoint(Path(checkpoint)))


def _read(path: Path) -> str:
    try:
        return read_both_ends(path, MOST_OUTPUT)
    except OSError:
        return ""


def _with_unread(folder: Path, state: RunState, *, supervised: bool) -> RunState:
    """Return the state of a run, including what its training process wrote after its supervisor ended, and its end."""
    if supervised or state.stage.ended or state.current is None:
        return state
    ended = poll_attempt(state.current, SystemClock().now_s()) if state.current.id else None
    read = SharedOutput(folder).read(state.current, state.seen_s, ended=ended is not None)
    return fold((*read.events, *([ended] if ended else [])), state)
