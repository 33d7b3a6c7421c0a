"""The verb `study`: one job with many settings, each a run; it goes on past failures and after kills."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.study_folder import (
    is_running_study,
    make_study_folder,
    running_study,
    study_folder,
)
from holdfast.app.arguments import PathName, Texts, as_codes, as_path, as_texts, runs_folder
from holdfast.app.hub_access import HubAccess
from holdfast.app.study.background import run_in_background
from holdfast.app.study.estimating import estimate_first, estimate_study, price_of
from holdfast.app.study.observing import NO_STUDY_OBSERVER, StudyObserver
from holdfast.app.study.options import StudyOptions
from holdfast.app.study.outcomes import TrialRun, find_runs, outcomes_of
from holdfast.app.study.preparing import PreparedTrial, check_trials, prepare_trials
from holdfast.app.study.reading import StudyFile, read_study
from holdfast.app.study.running import StudyRunner, distinct
from holdfast.app.study.writing import require_own_folder, write_study
from holdfast.core.errors import UsageError
from holdfast.core.event import RunStage
from holdfast.core.trial import TrialOutcome
from holdfast.engine.study.answers import StudyState, study_result
from holdfast.engine.study.spending import Spending
from holdfast.engine.units import render_counted
from holdfast.results.study import StudyEstimate, StudyResult

MANY: Final = 100
"""Trials from which on a study asks before it starts."""


def study(
    study: PathName,
    *,
    show: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    retry: bool = False,
    runs: PathName | None = None,
    despite: Texts = (),
    offline: bool = False,
    rehearse: bool = True,
    detach: bool = False,
    observer: StudyObserver = NO_STUDY_OBSERVER,
    confirm: Callable[[str], bool] = lambda _: False,
) -> StudyResult:
    """Run many settings of one job, and find the best. What has run is not run again, so the same command goes on after an interruption.

    >>> import holdfast
    >>> answer = holdfast.study("rates.yaml")  # doctest: +SKIP
    >>> answer["best"]["settings"], answer["best"]["value"]  # doctest: +SKIP
    ({'train.learning_rate': 0.001}, 4.31)

    Args:
        study: The study file.
        show: Show what the trials have given so far; start none.
        dry_run: Check every trial, and show what would run; start none.
        yes: Start more than 100 trials without asking.
        retry: Run trials that failed again.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        despite: Codes of rules that don't refuse a trial.
        offline: Don't contact the Hub when jobs are checked and rehearsed.
        rehearse: Rehearse each shape of job first: trials that differ in rates and seeds alone have the same.
        detach: Return once the study runs in the background.
        observer: Follows the study; may stop it.
        confirm: Asked whether so many trials shall start.

    Raises:
        UsageError: There is no such study, it is being run by another process, or it has many trials and nobody has agreed.
        ExceptionGroup: Of an error for everything that is wrong with it.
    """
    file = read_study(as_path(study))
    base = runs_folder(runs, str(file.job.get("output.folder", "") or "") or None)
    options = StudyOptions(
        runs=base,
        despite=tuple(as_codes(as_texts(despite))),
        offline=offline,
        rehearse=rehearse,
        retry=retry,
    )
    if not (show or dry_run or yes):
        _confirm(file, options, confirm)
    prepared = prepare_trials(file)
    asked = StudyRequest(file, prepared, options, observer)
    if show:
        return asked.shown()
    if dry_run:
        asked.check(asked.waiting(asked.found()))
        return asked.looked_at()
    folder = study_folder(base, file.name)
    require_own_folder(folder, file.path)
    make_study_folder(folder)
    with running_study(folder) as mine:
        if not mine:
            fix = f"wait until it is done; `holdfast study {file.path} --show` shows how far it is"
            raise UsageError(f"another process runs the study {file.name}", where=str(folder), fix=fix)
        if not detach:
            return asked.run(folder)
        asked.check(asked.waiting(asked.found()))
    run_in_background(file.path, folder, options)
    return asked.looked_at()


def _confirm(file: StudyFile, options: StudyOptions, confirm: Callable[[str], bool]) -> None:
    """Ask whether many trials shall start: how many, how long, and for how much money.

    Raises:
        UsageError: They shall not, or nobody can be asked.
    """
    count = len(file.trials)
    limit = min(count, file.study.budget.trials or count)
    if limit <= MANY:
        return
    hub = HubAccess.OFFLINE if options.offline else HubAccess.ASKED
    told = "; ".join([f"{file.name} has {render_counted(count, 'trial')}", *estimate_first(file, limit, hub)])
    if confirm(f"{told}. Start them?"):
        return
    fix = "`--dry-run` checks them; `--yes` starts them; `budget: {trials: 100}` limits them"
    raise UsageError(f"so many trials need a confirmation: {told}", where=file.path, fix=fix)


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """A study that was read, and how it is to be run.

    Attributes:
        file: The study.
        trials: Its trials.
        options: The options.
        observer: Follows it.
    """

    file: StudyFile
    trials: Sequence[PreparedTrial]
    options: StudyOptions
    observer: StudyObserver

    @property
    def hub(self) -> HubAccess:
        """Whether the Hub is asked."""
        return HubAccess.OFFLINE if self.options.offline else HubAccess.ASKED

    def found(self) -> dict[str, TrialRun]:
        """Return the runs that trials have."""
        return find_runs(self.options.runs, [each.content for each in self.trials])

    def waiting(self, found: Mapping[str, TrialRun]) -> list[PreparedTrial]:
        """Return the trials that have still to run, or to be continued."""
        return [each for each in self.trials if self._is_open(found.get(each.content))]

    def _is_open(self, found: TrialRun | None) -> bool:
        if found is None or not found.state.stage.ended or found.state.stage is RunStage.CANCELLED:
            return True
        return self.options.retry and found.state.stage is RunStage.FAILED

    def check(self, waiting: Sequence[PreparedTrial]) -> None:
        """Check the trials that have still to run.

        Raises:
            GroupedError: `run` would refuse one.
        """
        check_trials(self.file, distinct(waiting), self.options.despite, self.hub, self.observer.on_progress)

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
        found = self.found()
        outcomes = outcomes_of(self.trials, found, self.file.study.metric)
        state = self._state(outcomes, self.remaining(found, outcomes))
        return study_result(replace(state, started=is_running_study(Path(state.folder))))

    def run(self, folder: Path) -> StudyResult:
        """Run what has still to run, and return the result; its table and its report are written after each trial."""
        found = self.found()
        waiting = self.waiting(found)
        self.check([each for each in waiting if each.content not in found])
        outcomes = outcomes_of(self.trials, found, self.file.study.metric)
        self.observer.on_planned(len(self.trials), self.remaining(found, outcomes))
        runner = StudyRunner(
            file=self.file, options=self.options, observer=self.observer, spending=self._spending(found, outcomes)
        )
        runner.know_shapes(self.trials, found, outcomes)
        unstarted = runner.run(waiting, found)
        after = self.found()
        outcomes = [
            replace(unstarted[each.content], trial=each.trial) if each.run == "" and each.content in unstarted else each
            for each in outcomes_of(self.trials, after, self.file.study.metric)
        ]
        state = self._state(outcomes, self.remaining(after, outcomes))
        result = study_result(replace(state, folder=str(folder), because=runner.because, is_limited=runner.is_limited))
        write_study(folder, self.file, result, after)
        return result

    def remaining(self, found: Mapping[str, TrialRun], outcomes: Sequence[TrialOutcome]) -> StudyEstimate:
        """Return what is left to run."""
        waiting = [each for each, outcome in zip(self.trials, outcomes, strict=True) if not outcome.has_failed]
        left = self.waiting(found)
        return estimate_study(
            [each for each in left if each in waiting or self.options.retry],
            outcomes,
            self.file.study.parallel,
            self.hub,
        )

    def _spending(self, found: Mapping[str, TrialRun], outcomes: Sequence[TrialOutcome]) -> Spending:
        """Return what the runs of earlier starts have used."""
        spending = Spending(price_of)
        jobs = {each.content: each.job for each in self.trials}
        for content, outcome in {each.content: each for each in outcomes if each.run}.items():
            if found[content].state.stage.ended:
                spending.add(outcome.seconds, jobs[content])
        return spending

    def _state(self, outcomes: Sequence[TrialOutcome], remaining: StudyEstimate) -> StudyState:
        return StudyState(
            name=self.file.name,
            study=self.file.study,
            outcomes=outcomes,
            remaining=remaining,
            runs=str(self.options.runs),
            folder=str(study_folder(self.options.runs, self.file.name)),
        )
