"""What became of the trials of a study: each is known by the hash of its content, which stands in the first event of its run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.journal import Journal
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.diagnosing import diagnose_attempt
from holdfast.app.run.kept_results import load_evaluations, read_refusals
from holdfast.app.run.runs import Run
from holdfast.app.study.preparing import PreparedTrial
from holdfast.core.run.event import Diagnosed, Event, RunStage, Stopper
from holdfast.core.run.run_state import RunState
from holdfast.core.study.study import StudyMetric
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.run.progress import Progress, follow
from holdfast.engine.run.spending import ran_s
from holdfast.engine.study.measuring import metric_value
from holdfast.engine.study.spending import stepped_s

UNKNOWN = "the cause is not known"


@dataclass(frozen=True, slots=True)
class TrialRun:
    """The run of a trial.

    Attributes:
        run: The run.
        events: The outline of its events.
        progress: What follows from them.
        journal_bytes: The size of its journal with these events: with the same size, it has no others.
    """

    run: Run
    events: Sequence[Event]
    progress: Progress
    journal_bytes: int

    @property
    def state(self) -> RunState:
        """Its state."""
        return self.progress.state

    @property
    def is_interrupted(self) -> bool:
        """Whether it was stopped, so that it can be continued."""
        return self.state.stage is RunStage.CANCELLED and self.state.stop is not Stopper.STUDY

    @property
    def is_done(self) -> bool:
        """Whether it has ended, so that only a new run could follow."""
        return self.state.stage.ended and not self.is_interrupted

    def is_open(self, *, retry: bool) -> bool:
        """Whether it is to be started again, continued or followed; one that failed only where that is wanted."""
        return not self.is_done or (retry and self.state.stage is RunStage.FAILED)


def read_trial(run: Run) -> TrialRun:
    """Return the run of a trial with what its journal says."""
    size = Journal(run.folder).size  # before it is read: what is written meanwhile makes it larger
    events = run.ledger.outline(run.name)
    return TrialRun(run, events, follow(events), size)


def find_runs(
    runs: Path, contents: Iterable[str], known: Mapping[str, TrialRun] = MappingProxyType({})
) -> dict[str, TrialRun]:
    """Return the run of each trial that has one, by the hash of its content: of several, the one that succeeded, else the newest.

    A run whose folder was deleted does not count: so its trial runs again.

    Args:
        runs: The runs folder.
        contents: The hashes of the trials.
        known: Runs that were read before, by their names: one whose journal has not grown is not read again.
    """
    ledger, wanted = Ledger(runs), set(contents)
    found: dict[str, TrialRun] = {}
    for content, name in ledger.trials():
        if content in wanted and (runs / name).is_dir() and not _has_succeeded(found.get(content)):
            run = Run(name=name, folder=runs / name, ledger=ledger)
            found[content] = _read_unless_known(run, known.get(name))
    return found


def _has_succeeded(found: TrialRun | None) -> bool:
    return found is not None and found.state.stage is RunStage.SUCCEEDED


def _read_unless_known(run: Run, known: TrialRun | None) -> TrialRun:
    """Return the run of a trial; if its journal has not grown since it was read, as it was read."""
    if known is not None and known.journal_bytes == Journal(run.folder).size:
        return known
    return read_trial(run)


def open_trials(trials: Iterable[PreparedTrial], found: Mapping[str, TrialRun], *, retry: bool) -> list[PreparedTrial]:
    """Return the trials that have still to run, or to be continued."""
    return [each for each in trials if each.content not in found or found[each.content].is_open(retry=retry)]


def trial_outcome(trial: PreparedTrial, run: Run, metric: StudyMetric) -> TrialOutcome:
    """Return what became of a trial, given its run."""
    return replace(_outcome(read_trial(run), metric), trial=trial.trial, content=trial.content)


def outcomes_of(
    trials: Sequence[PreparedTrial],
    found: Mapping[str, TrialRun],
    metric: StudyMetric,
    unstarted: Mapping[str, TrialOutcome] = MappingProxyType({}),
) -> list[TrialOutcome]:
    """Return what became of each trial. One without a run whose shape a rehearsal has refused is refused, too.

    Args:
        trials: The trials.
        found: The runs that they have.
        metric: What they are compared by.
        unstarted: Those that could not be started, by the hash of their content.
    """
    known = {content: _outcome(each, metric) for content, each in found.items()}
    refused = _refused_shapes(trials, found, known)
    outcomes: list[TrialOutcome] = []
    for each in trials:
        alike = refused.get(each.shape)
        outcome = known.get(each.content) or unstarted.get(each.content) or alike or TrialOutcome(trial=each.trial)
        outcomes.append(replace(outcome, trial=each.trial, content=each.content, rows=each.rows))
    return outcomes


def _refused_shapes(
    trials: Sequence[PreparedTrial], found: Mapping[str, TrialRun], outcomes: Mapping[str, TrialOutcome]
) -> dict[str, TrialOutcome]:
    """Return what became of the shapes that a rehearsal has refused, and of which no run had an attempt."""
    begun = [each for each in trials if each.content in found]
    passed = {each.shape for each in begun if found[each.content].state.attempts}
    return {
        each.shape: replace(outcomes[each.content], run="", seconds=0.0)
        for each in begun
        if found[each.content].state.refused_by == "rehearsal" and each.shape not in passed
    }


def _outcome(found: TrialRun, metric: StudyMetric) -> TrialOutcome:
    """Return what became of a run; the trial that it belongs to is put in by the caller."""
    run, state = found.run, found.state
    current = state.current
    outcome = TrialOutcome(
        trial=Trial(number=0, settings={}),
        run=run.name,
        stage=state.stage,
        metrics=current.metrics if current else {},
        seconds=ran_s(state, run.counted_until_s(state)),
        stepped_s=stepped_s(found.events),
        is_refused=bool(state.refused_by),
        pruned=state.because if state.stage is RunStage.CANCELLED and state.stop is Stopper.STUDY else "",
        steps=current.steps if current else 0,
    )
    if state.stage is RunStage.SUCCEEDED:
        value = metric_value(metric, state, found.events, load_evaluations(state.evaluated))
        return replace(outcome, value=value) if value is not None else _valueless(outcome, state, metric)
    if state.stage is RunStage.FAILED:
        return _failed(outcome, found)
    return outcome


def _valueless(outcome: TrialOutcome, state: RunState, metric: StudyMetric) -> TrialOutcome:
    """Return the outcome of a run that trained, and did not write the metric."""
    evaluated = state.evaluated
    because = f"it trained, and wrote no finite `{metric.name}`"
    if evaluated and evaluated.verdict != "pass":
        because = f"{because}; its evaluation {evaluated.verdict}: {evaluated.because}"
    fix = f"it wrote {', '.join(sorted(outcome.metrics)) or 'no metric'}"
    return replace(outcome, because=because, fix=fix)


def _failed(outcome: TrialOutcome, found: TrialRun) -> TrialOutcome:
    """Return the outcome of a run that failed or was refused, with its cause."""
    if refusals := read_refusals(found.run, found.state):
        first = refusals[0]
        return replace(outcome, name=first.code, because=first.message or found.state.because, fix=first.fix or "")
    cause = _cause(found)
    if cause.name:
        return replace(outcome, name=cause.name, because=cause.title or cause.name, fix=cause.fix)
    because = found.state.because or UNKNOWN
    return replace(outcome, because=because, fix=f"`holdfast diagnose {outcome.run}`")


def _cause(found: TrialRun) -> Diagnosed:
    """Return the cause of a failure: as it was found while the run was supervised, else now."""
    current = found.state.current
    if current is None or (current.diagnosed and current.diagnosed.name):
        return (current.diagnosed if current else None) or Diagnosed(at_s=0.0, attempt=0)
    return diagnose_attempt(found.run, current.number, SystemClock().now_s())
