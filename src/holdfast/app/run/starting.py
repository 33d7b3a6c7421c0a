"""Starting a run of a checked job."""

import time
from dataclasses import replace
from pathlib import Path

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.foreign_files import hash_content
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.ledger import Ledger, start_journal
from holdfast.adapters.storage.run_folder import make_run_folder, save_request, supervising, write_redacted
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.preparing import CheckedJob, RefusedJob, prepare_run
from holdfast.app.run.runs import Run
from holdfast.app.run.supervising import supervise_or_watch
from holdfast.core.job_file.secret_references import separate_secrets
from holdfast.core.run.event import RunRequested
from holdfast.core.run.plan import RunRequest
from holdfast.engine.run.naming import name_job
from holdfast.engine.run.plans import requested_job
from holdfast.engine.script.outline import with_schedule
from holdfast.results.run import RunResult

STARTED = "%Y%m%d-%H%M%S"


def start_run(
    request: RunRequest,
    job: CheckedJob | RefusedJob,
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
    begun = begin_run(request, job, runs, observer)
    if isinstance(begun, RunResult):
        return begun
    return supervise_or_watch(begun, observer, detach=detach or observer.take() == "detach")


def begin_run(
    request: RunRequest, job: CheckedJob | RefusedJob, runs: PathName | None, observer: RunObserver
) -> Run | RunResult:
    """Record a run of a checked job, and rehearse it; return it, ready for its first attempt, or its result if it is closed.

    Raises:
        UsageError: The script needs other arguments.
    """
    begun = _begin(job, request, runs_folder(runs, job.target.job.output.folder if job.target.job else None))
    with supervising(begun.folder):
        closed = prepare_run(begun, job, request, observer)
    return closed or begun


def _begin(job: CheckedJob | RefusedJob, request: RunRequest, base: Path) -> Run:
    """Make the run's folder, and record the request there and in the ledger."""
    target, ledger = job.target, Ledger(base)
    now_s, path = SystemClock().now_s(), target.document.path
    kept_request = replace(job.references.refer_request(request), sha256=hash_content(Path(path)))
    about = requested_job(
        target.job,
        kept_request,
        path,
        backend=job.plan.backend if isinstance(job, CheckedJob) else None,
        runs=None if base == runs_folder(None) else str(base),
        scenario=target.scenario,
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
        write_redacted(folder / resolved.RESOLVED_JOB_FILE, resolved.resolved_yaml(kept))
    return begun
