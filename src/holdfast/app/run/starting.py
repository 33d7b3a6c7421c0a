"""Starting a run of a checked job, and supervising it."""

import time
from pathlib import Path

from msgspec import structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.ledger import Ledger, start_journal
from holdfast.adapters.storage.run_folder import (
    make_run_folder,
    save_request,
    supervising,
    write_redacted,
)
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.run.background import send_to_background
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.diagnosing import diagnose_attempt
from holdfast.app.run.evaluating import load_evaluations
from holdfast.app.run.preparing import CheckedJob, RunClosed, prepare_run
from holdfast.app.run.reporting import write_report
from holdfast.app.run.runs import Run, RunObserver
from holdfast.core.event import RunRequested
from holdfast.core.plan import RunRequest
from holdfast.core.secret_references import separate_secrets
from holdfast.engine.run.answers import run_result, with_evaluations
from holdfast.engine.run.launch import name_job, requested_job
from holdfast.engine.run.progress import follow
from holdfast.engine.run.summary import render_summary
from holdfast.engine.script.outline import with_schedule
from holdfast.results.run import RunResult

STARTED = "%Y%m%d-%H%M%S"


def start_run(
    request: RunRequest,
    job: CheckedJob,
    runs: PathName | None,
    observer: RunObserver,
    *,
    detach: bool = False,
) -> RunResult:
    """Record a run of a checked job, rehearse it, and supervise it until it ends; a refused one is closed.

    Args:
        request: How it was requested.
        job: The job.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        observer: Follows the run; may stop it or detach from it.
        detach: Return at once; a supervisor continues in the background.
    """
    begun = _begin(job, request, runs_folder(runs, job.target.job.output.folder if job.target.job else None))
    try:
        with supervising(begun.folder):
            prepare_run(begun, job, request, observer)
    except RunClosed as closed:
        return closed.result
    return supervise_or_watch(begun, observer, detach=detach or observer.take() == "detach")


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


def supervise_or_watch(run: Run, observer: RunObserver, *, detach: bool) -> RunResult:
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
    result = run_result(run.name, state, cost_usd=cost_usd(run.folder, state))
    result = with_evaluations(result, load_evaluations(state.evaluated))
    return structs.replace(result, summary=render_summary(progress, SystemClock().now_s()))
