"""A study that was read, and how it is to be run."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.adapters.storage.study_folder import is_running_study, running_study, study_folder
from holdfast.app.hub_access import HubAccess
from holdfast.app.study.estimating import StudyPrices, estimate_study
from holdfast.app.study.observing import StudyObserver
from holdfast.app.study.options import StudyOptions
from holdfast.app.study.outcomes import TrialRun, find_runs, open_trials, outcomes_of
from holdfast.app.study.preparing import PreparedTrial, check_trials, prepare_trials
from holdfast.app.study.queue import TrialQueue, distinct
from holdfast.app.study.reading import StudyFile
from holdfast.app.study.removing import empty_trials
from holdfast.app.study.running import StudyRunner
from holdfast.app.study.searching import TrialSearch, count_proposals, with_proposals
from holdfast.app.study.writing import write_study, write_table
from holdfast.core.errors import LedgerError
from holdfast.core.study.trial import TrialOutcome
from holdfast.engine.study.answers import StudyState, study_result
from holdfast.engine.study.expansion import extreme_trials
from holdfast.engine.study.keeping import trials_to_empty
from holdfast.engine.study.pruning import Pruner
from holdfast.engine.study.spending import NOTHING_LEFT, Spending
from holdfast.results.study import StudyEstimate, StudyResult


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """A study that was read, and how it is to be run.

    Attributes:
        file: The study.
        trials: Its trials.
        options: The options.
        observer: Follows it.
        prices: What the hardware of its trials costs.
        known: Runs that were read, by their names.
    """

    file: StudyFile
    trials: Sequence[PreparedTrial]
    options: StudyOptions
    observer: StudyObserver
    prices: StudyPrices
    known: dict[str, TrialRun] = field(default_factory=dict[str, TrialRun])

    @property
    def hub(self) -> HubAccess:
        """Whether the Hub is contacted."""
        return HubAccess.unless(offline=self.options.offline)

    def reread(self, folder: Path) -> "StudyRequest":
        """Return the request with what the search has proposed by now: before its lock was taken, another process may have run the study."""
        if self.file.study.search is None:
            return self
        file = with_proposals(self.file, folder)
        return self if file.trials == self.file.trials else replace(self, file=file, trials=prepare_trials(file))

    def found(self) -> dict[str, TrialRun]:
        """Return the runs that trials have."""
        found = find_runs(self.options.runs, [each.content for each in self.trials], self.known)
        self.known.update({each.run.name: each for each in found.values()})
        return found

    def waiting(self, found: Mapping[str, TrialRun]) -> list[PreparedTrial]:
        """Return the trials that have still to run, or to be continued."""
        return open_trials(self.trials, found, retry=self.options.retry)

    def check(self, waiting: Sequence[PreparedTrial]) -> None:
        """Check the trials that have still to run, and the extremes of what a search may propose.

        Raises:
            GroupedError: `run` would refuse one.
        """
        extremes = extreme_trials(self.file.study) if self.proposals else []
        prepared = [*distinct(waiting), *prepare_trials(replace(self.file, trials=extremes))]
        options = self.options
        check_trials(self.file, prepared, options.despite, self.hub, self.observer.on_progress, options.runs)

    def shown(self) -> StudyResult:
        """Return what the trials have given so far. The table and the report are written anew, unless another process does that."""
        result = self.looked_at()
        folder = study_folder(self.options.runs, self.file.name)
        if folder.is_dir():
            with running_study(folder) as mine:
                if mine:
                    write_study(folder, self.file, result, self.found())
        return result

    def looked_at(self) -> StudyResult:
        """Return the result of a study of which nothing is started."""
        started = is_running_study(
            study_folder(self.options.runs, self.file.name)
        )  # before its runs are read: it may end meanwhile
        found = self.found()
        outcomes = outcomes_of(self.trials, found, self.file.study.metric)
        state, spending = self._state(outcomes, self.remaining(found, outcomes)), self._spending(found, outcomes)
        because = spending.used_up(self.file.study.budget, running=0) if state.remaining.trials else ""
        return study_result(replace(state, started=started, because=because, is_limited=bool(because)))

    def run(self, folder: Path) -> StudyResult:
        """Run what has still to run, and return the result. Its table is written after each trial, its report at the end."""
        found = self.found()
        waiting = self.waiting(found)
        self.check([each for each in waiting if each.content not in found])
        outcomes = outcomes_of(self.trials, found, self.file.study.metric)
        self.observer.on_planned(len(self.trials) + self.proposals, self.remaining(found, outcomes))
        pruning = self.file.study.prune
        runner = StudyRunner(
            file=self.file,
            options=self.options,
            observer=self.observer,
            spending=self._spending(found, outcomes),
            pruner=Pruner(pruning, self.file.study.metric) if pruning else None,
        )
        search = self._search(folder)
        runner.on_ended = lambda: self._with_tried(search).note_ended(folder)
        runner.know_shapes(self.trials, found, outcomes)
        runner.know_evaluations(found)
        unstarted = runner.run(TrialQueue(waiting, search))
        because = runner.because or (search.because if search else "")
        return self._with_tried(search).finish(folder, unstarted, because, is_limited=runner.is_limited)

    def _with_tried(self, search: TrialSearch | None) -> "StudyRequest":
        """Return the request with the trials that the search has proposed, too."""
        return replace(self, trials=search.trials) if search else self

    def note_ended(self, folder: Path) -> None:
        """Write the table anew after a trial has ended, and remove what the study does not keep."""
        outcomes = outcomes_of(self.trials, self.found(), self.file.study.metric)
        with suppress(LedgerError):  # if the disk is full, the end of the study says so
            write_table(folder, study_result(self._state(outcomes, NOTHING_LEFT)))
        self.remove_worse()

    def remove_worse(self) -> None:
        """Remove the checkpoints, models and exports of trials that are not among the best, if the study says so."""
        if keep := self.file.study.keep:
            found, metric = self.found(), self.file.study.metric
            outcomes = outcomes_of(self.trials, found, metric)
            worse = trials_to_empty(outcomes, keep, lower_is_better=metric.lower_is_better)
            empty_trials(self.file.name, worse, found, keep)

    def _search(self, folder: Path) -> TrialSearch | None:
        search = self.file.study.search
        if search is None:
            return None
        return TrialSearch(
            file=self.file,
            search=search,
            folder=folder,
            options=self.options,
            trials=list(self.trials),
            known=self.known,
            left=self.proposals,
        )

    def finish(
        self, folder: Path, unstarted: Mapping[str, TrialOutcome], because: str, *, is_limited: bool
    ) -> StudyResult:
        """Return the result of trials that were run; its table and its report are written."""
        found = self.found()
        outcomes = outcomes_of(self.trials, found, self.file.study.metric, unstarted)
        state = self._state(outcomes, self.remaining(found, outcomes))
        result = study_result(replace(state, folder=str(folder), because=because, is_limited=is_limited))
        write_study(folder, self.file, result, found)
        self.remove_worse()
        return result

    @property
    def proposals(self) -> int:
        """How many trials the search has still to propose."""
        return count_proposals(self.file, (each.trial for each in self.trials))

    def remaining(self, found: Mapping[str, TrialRun], outcomes: Sequence[TrialOutcome]) -> StudyEstimate:
        """Return what is left to run."""
        failed = {each.content for each in outcomes if each.has_failed}
        left = self.waiting(found)
        return estimate_study(
            [each for each in left if each.content not in failed or self.options.retry],
            [self.trials[0]] * self.proposals,
            outcomes,
            self.file.study,
            self._spending(found, outcomes),
            self.prices,
        )

    def _spending(self, found: Mapping[str, TrialRun], outcomes: Sequence[TrialOutcome]) -> Spending:
        """Return what the runs of earlier starts have used."""
        spending = Spending(self.prices)
        jobs = {each.content: each.job for each in self.trials}
        for content, outcome in {each.content: each for each in outcomes if each.run}.items():
            spending.add(outcome.run, outcome.seconds, jobs[content], ended=found[content].is_done)
        return spending

    def _state(self, outcomes: Sequence[TrialOutcome], remaining: StudyEstimate) -> StudyState:
        return StudyState(
            name=self.file.name,
            study=self.file.study,
            outcomes=outcomes,
            remaining=remaining,
            proposals=self.proposals,
            runs=str(self.options.runs),
            folder=str(study_folder(self.options.runs, self.file.name)),
        )
