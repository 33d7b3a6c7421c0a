"""The search of a study: what it has proposed so far, and what it tries next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.adapters.storage.study_folder import PROPOSED, read_proposals, write_proposals
from holdfast.app.extras import require_extra
from holdfast.app.study.options import StudyOptions
from holdfast.app.study.outcomes import TrialRun, find_runs, open_trials, outcomes_of
from holdfast.app.study.preparing import PreparedTrial, prepare_trials
from holdfast.app.study.reading import StudyFile
from holdfast.core.errors import HoldfastError, UsageError, flatten
from holdfast.core.study.study import SearchTrials
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.core.text.numbers import is_number
from holdfast.engine.study.expansion import expand_trials, proposed_trials
from holdfast.engine.study.proposing import count_left, propose_setting
from holdfast.engine.study.searched import is_searched, searched_settings
from holdfast.engine.study.summaries import summarize_settings

NOTHING_NEW = "the search found nothing new that the conditions allow"


def with_proposals(file: StudyFile, folder: Path) -> StudyFile:
    """Return a study with the trials that its search has proposed so far.

    Args:
        file: The study.
        folder: Its folder.

    Raises:
        UsageError: Optuna is not installed, or the proposals are of another search, or damaged.
    """
    search = file.study.search
    if search is None:
        return file
    require_extra("study", ["optuna"], "the search of a study")
    proposed = read_proposals(folder)
    _require_same_keys(search, proposed, folder)
    _require_same_kinds(search, proposed, folder)
    trials = expand_trials(file.study, file.document, proposed)
    return replace(file, trials=[_with_file(each, search, folder) for each in trials])


def _with_file(trial: Trial, search: SearchTrials, folder: Path) -> Trial:
    """Return a trial that says where its values are from, if the study file cannot have given them."""
    is_proposed = trial.settings.keys() == search.values.keys() and any(
        key[0] == "search" for key in trial.sources.values()
    )
    lies_elsewhere = is_proposed and not is_searched(search, trial.settings)
    return replace(trial, file=str(folder / PROPOSED)) if lies_elsewhere else trial


def _require_same_keys(search: SearchTrials, proposed: Iterable[Mapping[str, object]], folder: Path) -> None:
    """Refuse to go on with what a search of other keys has proposed.

    Raises:
        UsageError: It has.
    """
    wanted = set(search.values)
    for settings in proposed:
        if changed := sorted(wanted ^ settings.keys()):
            what = f"the search has tried settings of other keys before: {', '.join(changed)} was added or removed"
            fix = "give the study another `name`, or search over the same keys; their ranges and choices may change"
            raise UsageError(what, where=str(folder / PROPOSED), fix=fix)


def _require_same_kinds(search: SearchTrials, proposed: Iterable[Mapping[str, object]], folder: Path) -> None:
    """Refuse a proposed value that no range and no choices of its key can have had, such as text in place of a number.

    Raises:
        UsageError: There is one.
    """
    for number, settings in enumerate(proposed, start=1):
        for key, value in settings.items():
            if _kind(value) not in map(_kind, search.values[key].extremes):
                what = f"proposal {number} has {value!r:.60} for `{key}`, which the search cannot have proposed"
                fix = "delete the file: trials that ran are still known; or give the study another `name`"
                raise UsageError(what, where=str(folder / PROPOSED), fix=fix)


def _kind(value: object) -> str:
    """Return what a value is in JSON: whole and other numbers are one kind."""
    return "number" if is_number(value) else type(value).__name__


@dataclass(slots=True)
class TrialSearch:
    """Proposes trials one setting at a time, and keeps what it has proposed in the study's folder.

    Attributes:
        file: The study.
        search: Its search.
        folder: The study's folder.
        options: How its trials run.
        trials: All trials so far.
        known: Runs that were read, by their names.
        left: Trials that it has still to propose. Kept, since the loop asks again and again and a space may have thousands of settings.
        because: Why it proposes no more; empty while it does.
    """

    file: StudyFile
    search: SearchTrials
    folder: Path
    options: StudyOptions
    trials: list[PreparedTrial]
    known: dict[str, TrialRun]
    left: int
    because: str = ""

    def propose(self, unstarted: Mapping[str, TrialOutcome]) -> list[PreparedTrial]:
        """Return the trials of one more setting that have still to run: at most one for each seed; none if it proposes no more.

        One that has run is of an earlier start whose list of proposals was lost.

        Args:
            unstarted: Trials that could not be started, by the hash of their content.
        """
        proposed: list[PreparedTrial] = []
        while self.left and not proposed:
            trials = self._next(unstarted)
            proposed = open_trials(trials, self._found(trials), retry=self.options.retry)
        return proposed

    def _next(self, unstarted: Mapping[str, TrialOutcome]) -> list[PreparedTrial]:
        """Return the trials of the setting that comes next."""
        outcomes = outcomes_of(self.trials, self._found(self.trials), self.file.study.metric, unstarted)
        summaries = summarize_settings(outcomes, lower_is_better=self.file.study.metric.lower_is_better)
        settings = propose_setting(
            self.file.study, self.search, searched_settings(summaries, self.file.study.metric.name)
        )
        if settings is None:
            self._end(NOTHING_NEW)
            return []
        return self._prepared(settings)

    def _found(self, trials: Iterable[PreparedTrial]) -> dict[str, TrialRun]:
        """Return the runs that trials have; one whose journal has not grown is not read again."""
        found = find_runs(self.options.runs, [each.content for each in trials], self.known)
        self.known.update({each.run.name: each for each in found.values()})
        return found

    def _prepared(self, settings: Mapping[str, object]) -> list[PreparedTrial]:
        trials = proposed_trials(self.file.study, settings, first=len(self.trials) + 1)
        try:
            prepared = prepare_trials(replace(self.file, trials=trials))
            write_proposals(self.folder, [*read_proposals(self.folder), settings])
        except HoldfastError as error:  # what is proposed is no job, or the disk is full
            first = flatten(error)[0]
            self._end(f"the search cannot go on: {first.what} ({first.where}); {first.fix}")
            return []
        self.trials += prepared
        self.left = count_proposals(self.file, (each.trial for each in self.trials))
        return prepared

    def _end(self, because: str) -> None:
        """Propose no more."""
        self.because, self.left = because, 0


def count_proposals(file: StudyFile, trials: Iterable[Trial]) -> int:
    """Return how many trials the search of a study has still to propose, beyond those that there are."""
    left = count_left(file.study, (each.settings for each in trials))
    return left * max(1, len(set(file.study.seeds)))
