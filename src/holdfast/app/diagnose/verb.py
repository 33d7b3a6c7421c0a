"""The verb `diagnose`: why a job failed, from its logs, its script beside them, or a run that the ledger knows."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from holdfast.app.arguments import PathName, PathNames, as_paths
from holdfast.app.diagnose.sources import find_sources
from holdfast.core.diagnose.diagnosis import Diagnosis
from holdfast.core.diagnose.log import Log
from holdfast.engine.diagnose import PatternIndex, read_log
from holdfast.engine.diagnose import diagnose as judge
from holdfast.engine.diagnose.answers import diagnose_result, with_refusal
from holdfast.engine.diagnose.declared import DeclaredTraining, find_contradictions
from holdfast.engine.diagnose.findings import findings_evidence, refusal_evidence
from holdfast.engine.diagnose.history import RunHistory
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.results.diagnose import DiagnosedJob, DiagnoseResult
from holdfast.signatures import all_signatures

if TYPE_CHECKING:
    from holdfast.app.diagnose.jobs import JobContext  # for the type alone: what checks jobs takes long to import


def diagnose(targets: PathNames, *, ended: str | int = "", runs: PathName | None = None) -> DiagnoseResult:
    """Find the cause of a failure in logs, with its evidence and its fix; or name the log that is missing.

    >>> import holdfast
    >>> answer = holdfast.diagnose("slurm-4711.out", ended=137)  # doctest: +SKIP
    >>> answer["causes"][0]["class"]  # doctest: +SKIP
    'cpu-ram-oom-kill'

    Args:
        targets: A path, or several: logs of one job (files, folders, `-` for standard input), and the job's script or job
            file. Or the name of a run.
        ended: How the job ended, if known: an exit code, a signal, or a scheduler's state.
        runs: The runs folder, for the name of a run. Default: HOLDFAST_RUNS, else `./runs`.

    Raises:
        UsageError: There is no such log and no such run, or it is not text; or `ended` is not how a process can end.
    """
    past = find_sources(as_paths(targets), str(ended), runs)
    patterns = PatternIndex(past.possible(all_signatures()))
    log = read_log(past.files, patterns.sought)
    alone = judge(log, patterns, past.knows)
    job = _read_job(past, alone)
    declared = past.declared or (job.declared if job else None)
    beside = _beside(log, alone, past, job)
    found = judge(log, patterns, beside, declared) if beside or declared else alone
    result = _result(_with_history(found, past), past, job, declared)
    return with_refusal(result, past.refused_by, past.refusal) if past.refused_by else result


def _with_history(found: Diagnosis, past: RunHistory) -> Diagnosis:
    """Return a diagnosis with what is known beside the logs: that the run goes on, or what else is needed."""
    if past.running and found.is_quiet:
        found = replace(found, verdict="healthy", missing=(), is_quiet=False)
    if found.verdict == "unknown":
        found = replace(found, missing=(*found.missing, *past.needs))
    return found


def _result(
    found: Diagnosis, past: RunHistory, job: "JobContext | None", declared: DeclaredTraining | None
) -> DiagnoseResult:
    paths = [path for path, _ in past.files]
    result = diagnose_result(found, paths, declared, job=past.job, reported=_reported(job))
    return structs.replace(
        result,
        running=past.running or None,
        job=_diagnosed_job(past, job),
        run=past.run or None,
        namesake=past.namesake or None,
        earlier=past.earlier,
    )


def _reported(job: "JobContext | None") -> set[str] | None:
    """Return the codes of the rules that report something in the job's own file; None if it was not read."""
    return {each.rule.code for each in job.findings if each.rule} if job and not job.unread else None


def _diagnosed_job(past: RunHistory, job: "JobContext | None") -> DiagnosedJob | None:
    return DiagnosedJob(path=past.job, unread=job.unread or None) if job else None


def _read_job(past: RunHistory, alone: Diagnosis) -> "JobContext | None":
    """Return the context from the job's own file, if there is one."""
    if not past.job:
        return None
    from holdfast.app.diagnose.jobs import read_job

    return read_job(past.job, past.versions or alone.versions, past.text or None)


def _beside(log: Log, alone: Diagnosis, past: RunHistory, job: "JobContext | None") -> list[ClassEvidence]:
    """Return the evidence from outside the log: from the ledger, the settings, and the findings of rules."""
    declared = [each for each in (past.declared, job.declared if job else None) if each]
    return [
        *past.knows,
        *refusal_evidence(past.refused),
        *_first_of_each(found for each in declared for found in find_contradictions(log, each)),
        *findings_evidence(job.findings if job else (), alone, began=bool(log.progress and log.progress[0])),
    ]


def _first_of_each(evidence: Iterable[ClassEvidence]) -> list[ClassEvidence]:
    """Return one finding of each class."""
    return list({each.name: each for each in reversed(list(evidence))}.values())
