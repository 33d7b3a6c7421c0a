"""What happens before a run's first attempt: the job is read, checked, planned and rehearsed. A refused run is closed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

from msgspec import structs

from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.storage.run_folder import save_plan
from holdfast.adapters.targets import Target, read_target
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.check.target import check_rules
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.rehearse.before_run import rehearse_unless_passed
from holdfast.app.run.after_training import after_training, look_ahead
from holdfast.app.run.backends import require_backend
from holdfast.app.run.estimating import EstimatedJob, estimate_job, find_prices
from holdfast.app.run.kept_results import save_result
from holdfast.app.run.observers import RunObserver
from holdfast.app.run.placement import read_placement
from holdfast.app.run.planning import make_plan, secret_references
from holdfast.app.run.reporting import write_report
from holdfast.app.run.resume_source import fetch_resume_source, require_reachable
from holdfast.app.run.runs import Run
from holdfast.app.run.stopping import cancel_unstarted
from holdfast.app.targets.programs import program_of, program_of_job
from holdfast.core.errors import ScriptArgumentsError, UsageError
from holdfast.core.job_file.secret_references import SecretReferences
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.event import Refuser
from holdfast.core.run.plan import Plan, RunRequest
from holdfast.engine.check.answers import CheckedTarget, check_result, target_result
from holdfast.engine.plan.summary import summarize_estimate
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.plans import place_plan
from holdfast.engine.run.refusals import blocking_findings
from holdfast.engine.run.rehearsed import summarize_rehearsal
from holdfast.results.run import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedJob:
    """A job that must not start. A run of it is recorded, and closed.

    Attributes:
        target: The job.
        checked: Its check.
        references: The references that replace its secrets in the run's folder.
        codes: Codes of the findings that forbid a start.
    """

    target: Target
    checked: CheckedTarget
    references: SecretReferences
    codes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedJob:
    """A job that may become a run.

    Attributes:
        target: The job.
        checked: Its check.
        references: The references that replace its secrets in the run's folder.
        plan: The plan of its attempts.
        planned: What it is estimated to need, in a few lines; empty if it names no GPU.
    """

    target: Target
    checked: CheckedTarget
    references: SecretReferences
    plan: Plan
    planned: str


def check_job(request: RunRequest, path: str, runs: PathName | None = None) -> CheckedJob | RefusedJob:
    """Read and check the job of a request; if nothing forbids a start, make its plan.

    Args:
        request: How it was requested.
        path: The job file or script.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.

    Raises:
        UsageError: The request is wrong, or nothing on this machine can run the job.
    """
    placement = read_placement(path, request.sets)
    target = read_target(path, placement.sets, request.arguments)
    backend = (target.job.where if target.job else placement.where).backend
    place = require_backend(backend)
    hub = HubAccess.unless(offline=request.offline)
    checked = check_rules(target, TargetRequest(path=path, hub=hub, arguments=request.arguments))
    codes = sorted({each.rule.code for each in blocking_findings(checked.findings, request.despite) if each.rule})
    references = secret_references(target, request.arguments)
    if codes:
        return RefusedJob(target=target, checked=checked, references=references, codes=codes)
    estimated = estimate_job(target, hub)
    prices = find_prices(target.document, backend, hub)
    plan = make_plan(target, request.arguments, references, placement, estimated.estimate, prices)
    if request.resume_from:
        require_reachable(request, plan)
    if not request.offline:
        for obstacle in place.obstacles(plan, {**os.environ, **references.values}):
            raise obstacle
    notes = [] if request.trial else _look_ahead(target, runs, request)  # a study did, once for trials that are alike
    return CheckedJob(
        target=target,
        checked=checked,
        references=references,
        plan=plan,
        planned="\n".join(filter(None, (_planned(target, estimated, plan), *notes))),
    )


def _look_ahead(target: Target, runs: PathName | None, request: RunRequest) -> list[str]:
    folder = runs_folder(runs, target.job.output.folder if target.job else None)
    return look_ahead(after_training(target), folder, offline=request.offline)


def _planned(target: Target, estimated: EstimatedJob, plan: Plan) -> str:
    """Return the estimate of a job, or the reason why there is none, in a few lines."""
    if estimated.estimate is None:
        return f"memory, time and cost are not known: {estimated.because}" if estimated.because else ""
    given = target.job.where.timeout_s if target.job else None
    has_bucket = capabilities_of(plan.backend).has_flavors
    return summarize_estimate(estimated.estimate, plan.timeout_s if given is None else None, has_bucket=has_bucket)


def prepare_run(run: Run, job: CheckedJob | RefusedJob, request: RunRequest, observer: RunObserver) -> RunResult | None:
    """Rehearse a job, and store its plan in the run's folder; return the result of a run that is closed instead.

    It is closed if the check or the rehearsal refuses it, or if it was stopped meanwhile.

    Raises:
        UsageError: The script needs other arguments, or training cannot resume from the checkpoint that was named.
        SourceError: That checkpoint could not be downloaded.
    """
    check = check_result([target_result(job.checked)])
    save_result(run, check)
    if isinstance(job, RefusedJob):
        closed = _refuse(run, "check", f"refused by check: {', '.join(job.codes)}", job.codes)
        return structs.replace(closed, check=check)
    observer.on_checked(check)
    if job.target.scenario:
        observer.on_scenario(job.target.scenario.describe())
    if job.planned:
        observer.on_planned(job.planned)
    try:
        resume_from = fetch_resume_source(run, request.resume_from, observer) if request.resume_from else ""
        if request.rehearse and (refused := _rehearse(run, job.target, request, job.plan, observer)):
            return refused
    except KeyboardInterrupt:
        return cancel_unstarted(run)
    if run.state().stop:  # by `holdfast stop`, meanwhile
        return cancel_unstarted(run)
    plan = replace(job.plan, resume_from=resume_from)
    save_plan(run.folder, place_plan(plan, run.folder.name, str(run.folder), token_hex(8)))
    return None


def _refuse(run: Run, by: Refuser, because: str, codes: Sequence[str] = ()) -> RunResult:
    """Close a run that may not start, and return its result."""
    run.refuse(by, because, codes)
    write_report(run)
    return run_result(run.name, run.state())


def _rehearse(run: Run, target: Target, request: RunRequest, plan: Plan, observer: RunObserver) -> RunResult | None:
    """Rehearse a job, unless it passed a rehearsal before; return the result of a run that is refused.

    Raises:
        UsageError: The script needs other arguments.
    """
    on_progress = observer.on_rehearsal_progress
    try:
        program = _program(target, request, plan)
        rehearsal = rehearse_unless_passed(program, offline=request.offline, on_progress=on_progress)
    except UsageError as error:
        _refuse(run, "rehearsal", f"refused by the rehearsal: {error.what}")
        raise (error.for_verb("run") if isinstance(error, ScriptArgumentsError) else error) from None
    if rehearsal is None:
        on_progress("this job already passed a rehearsal")
        return None
    save_result(run, rehearsal)
    on_progress(summarize_rehearsal(rehearsal))
    failure = next((each for each in rehearsal.failures if each.refuses), None)
    if failure is None:
        return None
    because = f"refused by the rehearsal: {failure.name} in `{failure.stage}`"
    return structs.replace(_refuse(run, "rehearsal", because, (failure.name,)), rehearsal=rehearsal)


def _program(target: Target, request: RunRequest, plan: Plan) -> Program:
    """Return the program to rehearse: of a job file, what was read for the plan, even if the file has changed since."""
    if target.job:
        return program_of_job(target, target.job)
    path = target.document.path
    here = (f"where.backend={plan.backend}",) if capabilities_of(plan.backend).is_here else ()
    return program_of(path, (*read_placement(path, request.sets).sets, *here), request.arguments)
