"""Starting a run, staying with it, stopping it, and starting it again."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.private_files import open_private
from holdfast.adapters.storage.run_folder import (
    Tail,
    has_plan,
    is_supervised,
    load_request,
    make_run_folder,
    save_plan,
    save_request,
    supervising,
    write_redacted,
)
from holdfast.adapters.targets import Target, read_target
from holdfast.app.arguments import Overrides, PathName, Texts, as_codes, as_overrides, as_path, as_texts, runs_folder
from holdfast.app.check.target import check_rules
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import OFFLINE
from holdfast.app.rehearse.before_run import rehearse_unless_passed
from holdfast.app.run.kept_results import save_result
from holdfast.app.run.planning import make_plan, secret_references
from holdfast.app.run.reporting import write_report
from holdfast.app.run.runs import (
    NO_OBSERVER,
    Run,
    RunObserver,
    attached_backend,
    open_run,
    require_backend,
)
from holdfast.app.run.secrets import resolve_request, with_secrets
from holdfast.core.errors import BackendError, UsageError
from holdfast.core.event import RunRequested, RunStage, Stopper, StopRequested
from holdfast.core.plan import Plan, RunRequest
from holdfast.core.secret_references import SecretReferences, separate_secrets
from holdfast.engine.check.answers import CheckedTarget, check_result, target_result
from holdfast.engine.rehearse.answers import summarize_rehearsal
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.launch import blocking_findings, describe, name_job, place_plan
from holdfast.engine.run.progress import follow
from holdfast.engine.run.summary import render_summary
from holdfast.engine.script.outline import with_schedule
from holdfast.results.run import RunResult

STARTED = "%Y%m%d-%H%M%S"
TAKEN_UP_POLL_S = 0.05
ERROR = "error: "
"""What the command line writes before an error."""
START_ANEW = "`holdfast run` starts it anew"


def run(
    target: PathName,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
    runs: PathName | None = None,
    despite: Texts = (),
    detach: bool = False,
    offline: bool = False,
    rehearse: bool = True,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Check, rehearse, start and supervise a job; return when it has ended.

    >>> import holdfast
    >>> answer = holdfast.run("job.yaml", set={"train.max_steps": 20})  # doctest: +SKIP
    >>> answer["stage"], answer["output"]  # doctest: +SKIP
    ('succeeded', 'runs/job-20261121-154501-x7/model')

    Args:
        target: A job file or a script.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        arguments: The script's own arguments.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        despite: Codes of rules that don't refuse the job.
        detach: Return at once; a supervisor continues in the background.
        offline: Don't contact the Hub when the job is checked and rehearsed.
        rehearse: Rehearse the job first, unless it already passed a rehearsal.
        observer: Follows the run; may stop it or detach from it.

    Raises:
        UsageError: There is no such target, or an argument is wrong; nothing was created.
    """
    request = RunRequest(
        target=str(Path(as_path(target)).absolute()),
        cwd=str(Path.cwd()),
        sets=tuple(as_overrides(set)),
        arguments=tuple(as_texts(arguments)),
        despite=tuple(as_codes(despite)),
        offline=offline,
        rehearse=rehearse,
    )
    job = _read_job(request, as_path(target))
    begun = _begin(job, request, runs_folder(runs, job.target.job.output.folder if job.target.job else None))
    with supervising(begun.folder):
        refusal = _clear(begun, job, request, observer)
    return refusal or _supervise_or_watch(begun, observer, detach=detach or observer.take() == "detach")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedJob:
    """A job that may become a run.

    Attributes:
        target: What was named.
        checked: What `check` found.
        refusals: Codes of the findings that forbid a start.
        plan: What its attempts would start from; None where it is refused.
        references: What stands for its secrets in what is kept of it.
    """

    target: Target
    checked: CheckedTarget
    refusals: Sequence[str]
    plan: Plan | None
    references: SecretReferences


def _read_job(request: RunRequest, path: str) -> CheckedJob:
    """Read and check what a run is asked for.

    Raises:
        UsageError: The question was wrong, or nothing here can run it.
    """
    target = read_target(path, request.sets)
    if target.job:
        require_backend(target.job.where.backend)
    checked = check_rules(target, TargetRequest(path=path, unasked=OFFLINE if request.offline else ""))
    refusals = sorted({each.rule.code for each in blocking_findings(checked.findings, request.despite) if each.rule})
    references = secret_references(target)
    plan = None if refusals else make_plan(target, request.arguments, references)
    return CheckedJob(target=target, checked=checked, refusals=refusals, plan=plan, references=references)


def _clear(begun: Run, job: CheckedJob, request: RunRequest, observer: RunObserver) -> RunResult | None:
    """Bring a run from its check to its plan; return its result where it may not be started."""
    result = check_result([target_result(job.checked)])
    save_result(begun, result)
    if job.plan is None:
        begun.refuse("check", f"refused by check: {', '.join(job.refusals)}", job.refusals)
        write_report(begun)
        return structs.replace(run_result(begun.name, begun.state()), check=result)
    observer.on_checked(result)
    try:
        if request.rehearse and (refusal := _rehearse(begun, job.target, request, job.plan, observer)):
            return refusal
    except KeyboardInterrupt:
        return _cancel(begun)
    if begun.state().stop:  # by `holdfast stop`, meanwhile
        return _cancel(begun)
    save_plan(begun.folder, place_plan(job.plan, begun.folder.name, str(begun.folder)))
    return None


def _cancel(begun: Run) -> RunResult:
    """Close a run before its first attempt."""
    begun.close(RunStage.CANCELLED, "stopped before it was started")
    write_report(begun)
    return run_result(begun.name, begun.state())


def _rehearse(begun: Run, target: Target, request: RunRequest, plan: Plan, observer: RunObserver) -> RunResult | None:
    """Rehearse a job, and close its run where that failed; return the answer then.

    Raises:
        UsageError: The script wants other arguments.
    """
    path, on_progress = target.document.path, observer.on_rehearsal_progress
    here = () if target.job else (f"where.backend={plan.backend}",)
    try:
        told = rehearse_unless_passed(
            path,
            sets=(*request.sets, *here),
            arguments=request.arguments,
            offline=request.offline,
            on_progress=on_progress,
        )
    except UsageError as error:
        begun.refuse("rehearsal", f"refused by the rehearsal: {error.what}")
        write_report(begun)
        fix = error.fix.replace("`holdfast rehearse ", "`holdfast run ")
        raise UsageError(error.what, where=error.where, fix=fix) from None
    if told is None:
        on_progress("this job already passed a rehearsal")
        return None
    save_result(begun, told)
    on_progress(summarize_rehearsal(told))
    failure = next((each for each in told.failures if each.refuses), None)
    if failure is None:
        return None
    begun.refuse("rehearsal", f"refused by the rehearsal: {failure.name} in `{failure.stage}`", (failure.name,))
    write_report(begun)
    return structs.replace(run_result(begun.name, begun.state()), rehearsal=told)


def resume(
    run: PathName,
    *,
    runs: PathName | None = None,
    detach: bool = False,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Continue a run from its newest complete checkpoint; if an attempt is still running, follow it instead.

    >>> import holdfast
    >>> holdfast.resume("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'succeeded'

    Args:
        run: Name of the run, the beginning of it, or its folder.
        runs: The runs folder. Default: HOLDFAST_RUNS, else `./runs`.
        detach: Return at once; a supervisor continues in the background.
        observer: Follows the run; may stop it or detach from it.

    Raises:
        UsageError: There is no such run, it has succeeded, or it was refused.
    """
    found = open_run(run, runs)
    state = found.state()
    if state.stage is RunStage.SUCCEEDED:
        raise UsageError(f"{found.name} has succeeded", where=str(found.folder), fix=START_ANEW)
    if state.refused_by:
        fix = f"correct the job; {START_ANEW}"
        raise UsageError(f"{found.name} was {state.because}", where=str(found.folder), fix=fix)
    if has_plan(found.folder):
        taken = found if is_supervised(found.folder) else with_secrets(found)
        return _supervise_or_watch(taken, observer, detach=detach)
    taken, refusal = _take_up(found, observer)
    return refusal or _supervise_or_watch(taken, observer, detach=detach)


def _take_up(found: Run, observer: RunObserver) -> tuple[Run, RunResult | None]:
    """Go on with a run that ended, or was killed, before it had a plan; return it, and its result where it may not be started.

    Raises:
        UsageError: Another process is at it, or what it was asked with is lost.
    """
    request = load_request(found.folder)
    gone = [path for path in (request.target, request.cwd) if not Path(path).exists()] if request else ["request.json"]
    if request is None or gone:
        what = f"{found.name} was never started, and {gone[0]} is no longer there"
        raise UsageError(what, where=str(found.folder), fix=START_ANEW)
    with supervising(found.folder) as mine:
        if not mine:
            what = f"another process checks and rehearses {found.name}"
            raise UsageError(what, where=str(found.folder), fix=f"wait for it, or `holdfast stop {found.name}`")
        request = resolve_request(request)
        found.reopen()
        with chdir(request.cwd):
            job = _read_job(request, request.target)
            taken = replace(found, secrets=job.references.values)
            return taken, _clear(taken, job, request, observer)


def stop(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> RunResult:
    """Stop a run after it saves a checkpoint; return when it has ended.

    >>> import holdfast
    >>> holdfast.stop("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'cancelled'

    Raises:
        UsageError: There is no such run, or it is not running.
    """
    found = open_run(run, runs)
    state = found.state()
    if state.stage.ended:
        raise UsageError(f"{found.name} is not running: {state.stage}", where=str(found.folder), fix="nothing to do")
    found.ledger.append(found.name, [StopRequested(at_s=SystemClock().now_s(), by=Stopper.PERSON)])
    if state.current is None:
        return _stop_before_start(found)
    if state.current.id:
        attached_backend(state.current.backend).stop(state.current.id)
    return _supervise_or_watch(found, observer, detach=False)


def _stop_before_start(found: Run) -> RunResult:
    """Close a run that has no attempt, unless a process checks or rehearses it: that one does so itself."""
    with supervising(found.folder) as mine:
        return _cancel(found) if mine else run_result(found.name, found.state())


def _begin(job: CheckedJob, request: RunRequest, base: Path) -> Run:
    """Make the run's folder and write down that it was asked for."""
    target = job.target
    now_s, path = SystemClock().now_s(), target.document.path
    folder = make_run_folder(base, name_job(target.job, path), time.strftime(STARTED, time.localtime(now_s)))
    save_request(folder, job.references.refer_request(request))
    begun = Run(name=folder.name, folder=folder, ledger=Ledger(base), secrets=job.references.values)
    about = describe(target.job, path) | ({} if base == runs_folder(None) else {"runs": str(base)})
    begun.ledger.append(begun.name, [RunRequested(at_s=now_s, folder=str(folder), about=about)])
    if target.job:
        write_redacted(folder / "job.yaml", target.document.text)
        write_redacted(folder / resolved.FILE, resolved.resolved_yaml(with_schedule(separate_secrets(target.job)[0])))
    return begun


def _supervise_or_watch(run: Run, observer: RunObserver, *, detach: bool) -> RunResult:
    """Supervise a run, unless another process does: then watch until it has brought the run to its end."""
    if detach:
        _send_to_background(run)
        return run_result(run.name, run.state())
    with supervising(run.folder) as mine:
        state = run.supervise(observer) if mine else run.watch(observer)
        if mine and state.stage.ended:
            write_report(run)
    if mine and not state.stage.ended and observer.has_left():
        _send_to_background(run)
    progress = follow(event for _, event in run.ledger.read(run.name))
    return structs.replace(run_result(run.name, state), summary=render_summary(progress, SystemClock().now_s()))


def _send_to_background(run: Run) -> None:
    """Start a supervisor in a session of its own, which outlives this process; return once it supervises the run.

    Raises:
        BackendError: It ended before that.
    """
    before, log = run.state(), run.folder / "supervisor.log"
    said = Tail(log, past=False)
    supervisor = _start_supervisor(run, log)
    while (code := supervisor.poll()) is None and not _is_under_way(run):
        SystemClock().sleep(TAKEN_UP_POLL_S)
    after = run.state()
    if code is not None and (after == before or not after.stage.ended):
        lines = said.read().decode(errors="replace").split("\n")
        why = next((line for line in lines if line.startswith(ERROR)), "").removeprefix(ERROR) or f"exit code {code}"
        what = f"the supervisor in the background ended before it took up {run.name}: {why}"
        raise BackendError(what, where=str(log), fix=f"correct that, then `holdfast resume {run.name}`")


def _is_under_way(run: Run) -> bool:
    """True if a supervisor holds a run whose attempt is started."""
    state = run.state()
    is_open = state.current is not None and bool(state.current.id) and not state.stage.ended
    return is_open and is_supervised(run.folder)


def _start_supervisor(run: Run, log: Path) -> subprocess.Popen[bytes]:
    words = [
        sys.executable,
        "-P",
        "-m",
        "holdfast.cli.main",
        "resume",
        run.name,
        "--runs",
        str(run.folder.parent),
        "--quiet",
    ]
    environment = {**os.environ, **run.secrets}
    try:
        with open_private(log, "ab") as file:
            return subprocess.Popen(  # noqa: S603 - our own command
                words, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
    except OSError as error:
        what = f"the supervisor in the background cannot be started: {error.strerror}"
        raise BackendError(what, where=str(log), fix="free some disk space, or check permissions") from error
