"""The verb `diagnose`: why a job failed, from its logs, its script beside them, or a run that the ledger knows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from holdfast.adapters.foreign_files import is_there
from holdfast.adapters.storage.log_files import open_logs
from holdfast.adapters.targets import PROGRAMS
from holdfast.app.arguments import PathName, PathNames, as_paths
from holdfast.core.diagnosis import Diagnosis
from holdfast.core.errors import UsageError
from holdfast.core.log import Log
from holdfast.engine.diagnose import PatternIndex, read_log
from holdfast.engine.diagnose import diagnose as judge
from holdfast.engine.diagnose.answers import diagnose_result
from holdfast.engine.diagnose.declared import find_contradictions
from holdfast.engine.diagnose.endings import ENDING, as_log, ending_evidence, read_ending
from holdfast.engine.diagnose.findings import findings_evidence, refusal_evidence
from holdfast.engine.diagnose.history import RunHistory
from holdfast.engine.diagnose.silent import ClassEvidence
from holdfast.results.diagnose import DiagnosedJob, DiagnoseResult
from holdfast.signatures import all_signatures

if TYPE_CHECKING:
    from holdfast.app.diagnose.jobs import JobContext  # for the type alone: what checks jobs takes long to import

JOBS: Final = frozenset({*PROGRAMS, ".yaml", ".yml"})
"""Ends of the names of scripts, notebooks and job files."""
STDIN: Final = "-"


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
    named = as_paths(targets)
    past = _past(named, str(ended), fspath(runs) if runs else None)
    patterns = PatternIndex(past.possible(all_signatures()))
    log = read_log(past.files, patterns.sought)
    alone = judge(log, patterns, past.knows)
    job = _read_job(past, alone)
    beside = _beside(log, alone, past, job)
    asked = past.asked or (job.asked if job else None)
    found = judge(log, patterns, beside, asked) if beside or asked else alone
    if past.running and found.is_quiet:
        found = replace(found, verdict="healthy", missing=(), is_quiet=False)
    if found.verdict == "unknown":
        found = replace(found, missing=(*found.missing, *past.needs))
    paths = [path for path, _ in past.files]
    reported = {each.rule.code for each in job.findings if each.rule} if job and not job.unread else None
    result = (
        diagnose_result(found, paths, asked.settings, asked.is_applied, job=past.job, reported=reported)
        if asked
        else diagnose_result(found, paths, job=past.job, reported=reported)
    )
    return structs.replace(
        result,
        running=past.running or None,
        job=DiagnosedJob(path=past.job, unread=job.unread or None) if job else None,
    )


def _read_job(past: RunHistory, alone: Diagnosis) -> "JobContext | None":
    """Return the context from the job's own file, if there is one."""
    if not past.job:
        return None
    from holdfast.app.diagnose.jobs import read_job

    return read_job(past.job, past.versions or alone.versions, past.text or None)


def _past(named: Sequence[str], ended: str, runs: str | None) -> RunHistory:
    """Return the named logs, and what belongs to them.

    Raises:
        UsageError: There are none.
    """
    jobs = [name for name in named if Path(name).suffix in JOBS and Path(name).is_file()]
    logs = [name for name in named if name not in jobs]
    if len(jobs) > 1:
        raise UsageError(
            "only one script or job file can be named",
            where=", ".join(jobs),
            fix="name the one that this job was started with",
        )
    if not logs:
        raise UsageError(
            "no log is named", where="holdfast diagnose", fix="name a log, a run, or `-` for standard input"
        )
    if len(logs) > 1 or jobs or logs[0] == STDIN or is_there(Path(logs[0])):
        known = [read_ending(ended)] if ended else []
        return RunHistory(
            files=[*open_logs(logs), *([as_log(known, ENDING)] if known else [])],
            knows=tuple(ending_evidence(known, ENDING)),
            needs=tuple(need for each in known for need in each.needs),
            job=next(iter(jobs), ""),
        )
    try:
        from holdfast.app.run.history import read_history
        from holdfast.app.run.runs import open_run

        past = read_history(open_run(logs[0], runs))
    except UsageError as error:
        what = f"{logs[0]} is not a log, and {error.what}"
        raise UsageError(what, where=logs[0], fix=f"name an existing file, or a run: {error.fix}") from None
    if ended:
        raise UsageError(
            "how a run ended is in its ledger",
            where=f"--ended {ended}",
            fix="leave out --ended, or name the log files instead of the run",
        )
    return past


def _beside(log: Log, alone: Diagnosis, past: RunHistory, job: "JobContext | None") -> list[ClassEvidence]:
    """Return the evidence from outside the log: from the ledger, the settings, and the findings of rules."""
    asked = [each for each in (past.asked, job.asked if job else None) if each]
    return [
        *past.knows,
        *refusal_evidence(past.refused),
        *_first_of_each(found for each in asked for found in find_contradictions(log, each)),
        *findings_evidence(job.findings if job else (), alone, began=bool(log.progress and log.progress[0])),
    ]


def _first_of_each(evidence: Iterable[ClassEvidence]) -> list[ClassEvidence]:
    """Return one finding of each class."""
    return list({each.name: each for each in reversed(list(evidence))}.values())
