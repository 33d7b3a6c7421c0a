"""What a run is diagnosed from: its logs, its job, its ledger, and the files of its newest attempt."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.log_files import read_chunks
from holdfast.adapters.storage.run_folder import is_supervised, load_plan
from holdfast.app.attempt_ending import LOGS, read_ending_of
from holdfast.app.run.kept_results import load_result, read_refusals
from holdfast.app.run.runs import Run
from holdfast.core.diagnose.log import Line
from holdfast.core.errors import LedgerError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Event, RunStage, Stopper, training_events
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.training_event import TrainingStarted
from holdfast.engine.diagnose.attempts import (
    Ending,
    attempt_evidence,
    failed_rank,
    refused_by,
    reported_training,
    where_it_began,
)
from holdfast.engine.diagnose.history import OpenedLogs, RunHistory
from holdfast.engine.run.verdict import how_it_failed
from holdfast.results.check import CheckResult
from holdfast.results.diagnose import EarlierAttempt
from holdfast.results.rehearse import RehearseResult


def read_history(run: Run) -> RunHistory:
    """Return the history of a run."""
    events = run.events()
    state = fold(events)  # of all of them: an outline lacks the steps by which a loss is judged
    folder = run.folder / "attempts" / str(state.current.number if state.current else 1)
    ending = read_ending_of(folder)
    known, evidence = attempt_evidence(state, ending)
    has_model = any((run.folder / "model").glob("*"))
    job, text = _job(run)
    codes = refused_by(state)
    return RunHistory(
        files=[*_log_files(folder), *known],
        declared=reported_training(events, text, state.about.method or "", has_model=has_model),
        knows=evidence,
        run=run.name,
        refused_by=state.refused_by,
        refused=(*_refusing_findings(run, codes), *_refusing_failures(run, codes)),
        refusal=read_refusals(run, state),
        job=job,
        text=text,
        versions=_versions(events),
        standstill=_where(ending, state, folder),
        rank=failed_rank(state, ending),
        earlier=tuple(map(_earlier, state.attempts[:-1])),
        changed=bool(state.remedies) and state.stop is not Stopper.PROMISE and not state.refused_changes,
        running="" if state.stage.ended or not is_supervised(run.folder) else run.name,
    )


def _earlier(attempt: AttemptState) -> EarlierAttempt:
    return EarlierAttempt(
        number=attempt.number,
        stage=attempt.stage,
        because=how_it_failed(attempt) if attempt.stage is RunStage.FAILED else "",
        name=(attempt.diagnosed.name if attempt.diagnosed else "") or None,
    )


def _log_files(folder: Path) -> OpenedLogs:
    """Return the logs of an attempt that there are."""
    paths = [str(folder / name) for name in LOGS if (folder / name).is_file()]
    return [(path, read_chunks(path)) for path in paths]


def _versions(events: Sequence[Event]) -> Mapping[str, str]:
    """Return the versions of the libraries in the newest attempt whose training started."""
    started = next(training_events(reversed(events), TrainingStarted), TrainingStarted())
    return {name: version for name, version in started.versions.items() if name != "python"}


def _refusing_findings(run: Run, codes: Container[str]) -> Iterator[tuple[str, Line]]:
    """Yield the findings for which a run was refused, each with its message and where it was found."""
    checked = load_result(run.folder, CheckResult)
    for each in checked.findings if checked else ():
        if each.code in codes:
            yield each.code, Line(each.line or 1, f"{each.code}: {each.message}", each.path)


def _refusing_failures(run: Run, codes: Container[str]) -> Iterator[tuple[str, Line]]:
    """Yield the failures of the rehearsal for which a run was refused, each with its cause and where it was found."""
    rehearsed = load_result(run.folder, RehearseResult)
    for each in rehearsed.failures if rehearsed else ():
        if each.name in codes:
            yield each.name, Line(1, f"{each.name}: {each.cause}", each.where or "rehearsal")


def _job(run: Run) -> tuple[str, str]:
    """Return the file that says what a run trains, and its text: its own copy of a job file, else its script."""
    copied = run.folder / "job.yaml"
    with suppress(OSError):
        return str(copied), read_foreign_text(copied)
    with suppress(LedgerError):
        plan = load_plan(run.folder)
        return plan.script_name, plan.script
    return "", ""


def _where(ending: Ending, state: RunState, folder: Path) -> str:
    """Return where the failure of an attempt began, with the file of the stacks that show it; empty if that is not known."""
    where = where_it_began(state, ending)
    stacks = f"; stacks in {folder.parent.name}/{folder.name}/stacks.txt" if where and state.stop else ""
    return f"{where}{stacks}"
