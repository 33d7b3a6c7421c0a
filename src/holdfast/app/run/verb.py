"""Starting, supervising, stopping and resuming a run."""

import time
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.ledger import Ledger, start_journal
from holdfast.adapters.storage.run_folder import (
    has_plan,
    is_supervised,
    load_request,
    make_run_folder,
    save_request,
    supervising,
    write_redacted,
)
from holdfast.app.arguments import Overrides, PathName, Texts, as_codes, as_overrides, as_path, as_texts, runs_folder
from holdfast.app.fetching import fetch_target
from holdfast.app.run.backends import attach_backend
from holdfast.app.run.background import send_to_background
from holdfast.app.run.diagnosing import diagnose_attempt
from holdfast.app.run.evaluating import load_evaluations
from holdfast.app.run.preparing import CheckedJob, RunClosed, cancel_unstarted, check_job, prepare_run
from holdfast.app.run.reporting import write_report
from holdfast.app.run.runs import NO_OBSERVER, Run, RunObserver, open_run
from holdfast.app.run.secrets import resolve_request, with_secrets
from holdfast.core.errors import UsageError
from holdfast.core.event import RunRequested, RunStage, Stopper, StopRequested
from holdfast.core.plan import RunRequest
from holdfast.core.secret_references import separate_secrets
from holdfast.engine.run.answers import run_result, with_evaluations
from holdfast.engine.run.launch import name_job, requested_job
from holdfast.engine.run.progress import follow
from holdfast.engine.run.summary import render_summary
from holdfast.engine.script.outline import with_schedule
from holdfast.results.run import RunResult

STARTED = "%Y%m%d-%H%M%S"
START_ANEW = "`holdfast run` starts the job anew"


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
        target: A job file or a script, or the address of one.
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
    named = as_path(target)
    path = fetch_target(named, offline=offline)
    request = RunRequest(
        target=str(Path(path).absolute()),
        cwd=str(Path.cwd()),
        sets=tuple(as_overrides(set)),
        arguments=tuple(as_texts(arguments)),
        despite=tuple(as_codes(despite)),
        offline=offline,
        rehearse=rehearse,
        address=named if path != named else None,
    )
    job = check_job(request, path)
    begun = _begin(job, request, runs_folder(runs, job.target.job.output.folder if job.target.job else None))
    try:
        with supervising(begun.folder):
            prepare_run(begun, job, request, observer)
    except RunClosed as closed:
        return closed.result
    return _supervise_or_watch(begun, observer, detach=detach or observer.take() == "detach")


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
    opened = open_run(run, runs)
    state = opened.state()
    if state.stage is RunStage.SUCCEEDED:
        raise UsageError(f"{opened.name} has succeeded", where=str(opened.folder), fix=START_ANEW)
    if state.refused_by:
        fix = f"correct the job; {START_ANEW}"
        raise UsageError(f"{opened.name} was {state.because}", where=str(opened.folder), fix=fix)
    try:
        ready = _with_plan(opened) if has_plan(opened.folder) else _prepare_again(opened, observer)
    except RunClosed as closed:
        return closed.result
    return _supervise_or_watch(ready, observer, detach=detach)


def _with_plan(run: Run) -> Run:
    """Return a run that has a plan; with its secrets, unless another process supervises it."""
    return run if is_supervised(run.folder) else with_secrets(run)


def _prepare_again(run: Run, observer: RunObserver) -> Run:
    """Check and rehearse again a run that was stopped or killed before it had a plan; return it with its secrets.

    Raises:
        RunClosed: It is refused, or was stopped meanwhile.
        UsageError: Another process is preparing it, or its request is lost.
    """
    request = load_request(run.folder)
    gone = [path for path in (request.target, request.cwd) if not Path(path).exists()] if request else ["request.json"]
    if request is None or gone:
        what = f"{run.name} was never started, and {gone[0]} is no longer there"
        raise UsageError(what, where=str(run.folder), fix=START_ANEW)
    with supervising(run.folder) as mine:
        if not mine:
            what = f"another process is preparing {run.name}: it checks and rehearses the job"
            raise UsageError(what, where=str(run.folder), fix=f"wait until it is done, or `holdfast stop {run.name}`")
        request = resolve_request(request)
        run.reopen()
        with chdir(request.cwd):
            job = check_job(request, request.target)
            ready = replace(run, secrets=job.references.values)
            prepare_run(ready, job, request, observer)
            return ready


def stop(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> RunResult:
    """Stop a run after it saves a checkpoint; return when it has ended.

    >>> import holdfast
    >>> holdfast.stop("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'cancelled'

    Raises:
        UsageError: There is no such run, or it is not running.
    """
    opened = open_run(run, runs)
    state = opened.state()
    if state.stage.ended:
        raise UsageError(f"{opened.name} is not running: {state.stage}", where=str(opened.folder), fix="nothing to do")
    opened.ledger.append(opened.name, [StopRequested(at_s=SystemClock().now_s(), by=Stopper.PERSON)])
    if state.current is None:
        return _stop_unstarted(opened)
    if state.current.id:
        attach_backend(state.current.backend).stop(state.current.id)
    return _supervise_or_watch(opened, observer, detach=False)


def _stop_unstarted(run: Run) -> RunResult:
    """Close a run that has no attempt, unless another process is preparing it: that process closes it itself."""
    with supervising(run.folder) as mine:
        return cancel_unstarted(run) if mine else run_result(run.name, run.state())


def _begin(job: CheckedJob, request: RunRequest, base: Path) -> Run:
    """Make the run's folder, and record the request there and in the ledger."""
    target, ledger = job.target, Ledger(base)
    now_s, path = SystemClock().now_s(), target.document.path
    kept_request = job.references.refer_request(request)
    about = requested_job(
        target.job,
        kept_request,
        path,
        backend=job.plan.backend if job.plan else None,
        runs=None if base == runs_folder(None) else str(base),
    )

    def record(draft: Path, folder: Path) -> None:
        ledger.make_index()
        save_request(draft, kept_request)
        start_journal(draft, RunRequested(at_s=now_s, folder=str(folder), about=about))

    folder = make_run_folder(base, about.job, time.strftime(STARTED, time.localtime(now_s)), record)
    begun = Run(name=folder.name, folder=folder, ledger=ledger, secrets=job.references.values)
    if target.job:
        write_redacted(folder / "job.yaml", target.document.text)
        public, _ = separate_secrets(target.job)
        named = with_schedule(public).model_copy(update={"name": name_job(target.job, path)})
        kept = resolved.with_absolute_paths(named, path)
        write_redacted(folder / resolved.FILE, resolved.resolved_yaml(kept))
    return begun


def _supervise_or_watch(run: Run, observer: RunObserver, *, detach: bool) -> RunResult:
    """Supervise a run; if another process does so already, watch the run until it ends."""
    if detach:
        send_to_background(run)
        return run_result(run.name, run.state())
    with supervising(run.folder) as mine:
        state = run.supervise(observer, diagnose_attempt) if mine else run.watch(observer)
        if mine and state.stage.ended:
            write_report(run)
    if mine and not state.stage.ended and observer.has_left():
        send_to_background(run)
    progress = follow(event for _, event in run.ledger.read(run.name))
    result = with_evaluations(run_result(run.name, state), load_evaluations(state.evaluated))
    return structs.replace(result, summary=render_summary(progress, SystemClock().now_s()))
