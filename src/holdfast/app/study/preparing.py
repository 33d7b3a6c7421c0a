"""Checking the trials of a study before any of them starts: everything that is wrong is reported at once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from holdfast.adapters.targets import Target
from holdfast.app.check.target import check_rules
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.run.backends import require_backend
from holdfast.app.study.after_training import failures_after
from holdfast.app.study.contents import trial_hashes
from holdfast.app.study.reading import StudyFile
from holdfast.app.study.sent_files import unsendable
from holdfast.core.check.finding import Finding, Rule
from holdfast.core.errors import GroupedError, HoldfastError, JobError, RuleError, Spot, UsageError, flatten
from holdfast.core.job_file.job import Job
from holdfast.core.run.backends import capabilities_of
from holdfast.core.study.trial import NO_NUMBER, Trial
from holdfast.engine.run.refusals import blocking_findings
from holdfast.engine.study.drawing import drawn_from, whole_numbers
from holdfast.engine.study.metric_checks import missing_metric, unreached_rung, unseen_metric
from holdfast.engine.study.places import shared_repositories

SHOWN_TRIALS = 6
"""Numbers of trials that a message lists."""
CHECKED = 200
"""Trials of which each is checked before the first starts. Of more, one of each shape is; each is checked again when it starts."""

PUSH_KEY: Final = "output.push_to"
WRONG_TYPE: Final = "ARG102"
"""The rule that finds fractions where whole numbers are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTrial:
    """A trial that can be started.

    Attributes:
        trial: The trial.
        job: Its job.
        target: What is checked.
        content: The hash of its content.
        shape: The hash of all that its rehearsal depends on.
        rows: The hash of all that decides which rows its metric is measured on.
    """

    trial: Trial
    job: Job
    target: Target
    content: str
    shape: str
    rows: str


def prepare_trials(
    file: StudyFile, check: Callable[[Sequence[PreparedTrial]], None] = lambda _: None
) -> list[PreparedTrial]:
    """Return the trials of a study, each with its job.

    Args:
        file: The study.
        check: Checks the trials that can be prepared where others cannot, so that all mistakes are reported at once.

    Raises:
        GroupedError: Of an error for everything that is wrong with a job, with the metric, or between trials.
    """
    problems = TrialProblems(len(file.trials))
    prepared = [each for trial in file.trials if (each := _prepare(file, trial, problems))]
    _add_study_errors(file, prepared, problems)
    if problems.found:
        try:
            check(prepared)
        except GroupedError as error:
            for refusal in flatten(error):
                problems.add(refusal)
    problems.require_none(file.path)
    return prepared


def _add_study_errors(file: StudyFile, prepared: Sequence[PreparedTrial], problems: "TrialProblems") -> None:
    """Add what is wrong between trials, and with what they are compared by."""
    for name, numbers in shared_repositories([(each.trial.number, each.job) for each in prepared]):
        place = file.job.place(PUSH_KEY)
        what = f"{len(numbers)} trials write to {name!r} (`{PUSH_KEY}`): the last would overwrite the others"
        fix = f"remove `{PUSH_KEY}`, or vary it"
        problems.add(JobError(what, where=Spot.of(place), fix=fix))
    if unseen := unseen_metric(file.study):
        place = file.document.place("prune")
        where = Spot.of(place)
        problems.add(JobError(unseen[0], where=where, fix=unseen[1]))
    for each in prepared:
        for key, problem in (
            ("metric", missing_metric(file.study.metric, each.job)),
            ("prune.min_steps", unreached_rung(file.study, each.job)),
        ):
            if problem:
                place = file.document.place(key)
                where = Spot.of(place)
                problems.add(JobError(problem[0], where=where, fix=problem[1]), each.trial.number)


def check_trials(
    file: StudyFile,
    trials: Sequence[PreparedTrial],
    despite: Collection[str],
    hub: HubAccess,
    on_progress: Callable[[str], None],
    runs: Path,
) -> None:
    """Check trials that have still to run.

    Args:
        file: The study.
        trials: The trials.
        despite: Codes of rules that don't refuse a trial.
        hub: Whether the Hub is contacted.
        on_progress: Called with what is being done.
        runs: The runs folder.

    Raises:
        GroupedError: Of an error for everything for which `run` would refuse one of them.
    """
    problems = TrialProblems(len(file.trials))
    concerned = list(trials if len(trials) <= CHECKED else {each.shape: each for each in trials}.values())
    for count, each in enumerate(concerned, start=1):
        on_progress(f"checking trial {count} of {len(concerned)}")
        _add_findings(file, each, TargetRequest(path=each.target.document.path, hub=hub), despite, problems)
    _add_run_errors([(each.trial.number, each.target) for each in trials], runs, hub, problems)
    problems.require_none(file.path)


def _add_findings(
    file: StudyFile,
    prepared: PreparedTrial,
    request: TargetRequest,
    despite: Collection[str],
    problems: "TrialProblems",
) -> None:
    """Add the findings of a trial because of which it would be refused."""
    trial = prepared.trial
    for finding in blocking_findings(check_rules(prepared.target, request).findings, despite):
        drawn = drawn_from(file.study, trial.sources.get(finding.key, ())) is not None
        problems.add(_rule_error(finding, file, trial), trial.number, drawn=drawn)


def _add_run_errors(
    trials: Sequence[tuple[int, Target]], runs: Path, hub: HubAccess, problems: "TrialProblems"
) -> None:
    """Add what would keep trials from starting, or would fail after training."""
    for lacking, absent in unsendable(trials):
        for number in lacking:
            problems.add(absent, number)
    for numbers, errors in failures_after(trials, runs, hub):
        for error, number in product(errors, numbers):
            problems.add(error, number)


def _prepare(file: StudyFile, trial: Trial, problems: "TrialProblems") -> PreparedTrial | None:
    try:
        target = file.target_of(trial)
        if target.job is None:  # the reader of job files gives one, or raises
            return None
        require_backend(target.job.where.backend)
        _require_price(file, target.job)
    except (UsageError, ExceptionGroup) as error:
        if not (errors := flatten(error)):
            raise
        for each in errors:
            problems.add(each, trial.number)
        return None
    content, shape, rows = trial_hashes(target.job, trial, target.document.path, file.study.metric)
    return PreparedTrial(trial=trial, job=target.job, target=target, content=content, shape=shape, rows=rows)


def _require_price(file: StudyFile, job: Job) -> None:
    """Refuse a budget in money where nothing has a price.

    Raises:
        UsageError: There is one.
    """
    if file.study.budget.usd is not None and not capabilities_of(job.where.backend).has_flavors:
        place = file.document.place("budget.usd")
        what = f"`budget.usd` cannot be kept: the {job.where.backend} backend has no prices"
        raise UsageError(what, where=Spot.of(place), fix="use `budget.hours` or `budget.trials`")


def _rule_error(finding: Finding, file: StudyFile, trial: Trial) -> RuleError:
    """Return a finding as an error. If it is about a part of the job of which the trial varies a key, its place is that of the value."""
    rule, place = finding.rule, finding.place
    if rule is None or place is None:
        raise TypeError("the engine names the rule and the place of each finding")
    varied = next((key for key in trial.values if key.startswith(f"{finding.key}.")), None)
    place = file.place_of(trial, varied) if varied else place
    return RuleError(finding.message, rule, where=Spot.of(place), fix=_fix_of(finding, rule, file, trial))


def _fix_of(finding: Finding, rule: Rule, file: StudyFile, trial: Trial) -> str:
    """Return the fix of a finding; of a fraction that a distribution gives, a distribution of whole numbers."""
    drawn = drawn_from(file.study, trial.sources.get(finding.key, ()))
    if drawn and rule.code == WRONG_TYPE and (whole := whole_numbers(drawn)):
        return whole
    return finding.fix.title if finding.fix else f"see `holdfast explain {rule.code}`"


class TrialProblems:
    """The errors of several trials. The same error in several trials is one.

    Args:
        count: How many trials there are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._errors: dict[tuple[str, str], HoldfastError] = {}
        self._numbers = Counter[tuple[tuple[str, str], int]]()

    def add(self, error: HoldfastError, trial: int = NO_NUMBER, *, drawn: bool = False) -> None:
        """Add an error of a trial, or one that is of none that runs.

        Errors of one rule about values that were drawn from one distribution are one error.
        """
        what = error.rule.code if drawn and isinstance(error, RuleError) else error.what
        key = (what, str(error.spot))
        self._errors.setdefault(key, error)
        if trial:
            self._numbers[key, trial] += 1

    @property
    def found(self) -> bool:
        """Whether there is any."""
        return bool(self._errors)

    def require_none(self, path: str) -> None:
        """Raise what was added.

        Raises:
            GroupedError: Something was.
        """
        if self._errors:
            raise GroupedError(f"{path} cannot be run", [*self._all()])

    def _all(self) -> Iterator[HoldfastError]:
        for key, error in self._errors.items():
            numbers = [number for each, number in self._numbers if each == key]
            if numbers and len(numbers) < self._count:
                error.what = f"{error.what} ({_spelled(numbers)})"
            yield error


def _spelled(numbers: Iterable[int]) -> str:
    """Return the numbers of some trials.

    >>> _spelled([3]), _spelled(range(1, 10))
    ('trial 3', 'trials 1, 2, 3, 4, 5, 6 and 3 more')
    """
    listed = list(numbers)
    shown = ", ".join(map(str, listed[:SHOWN_TRIALS]))
    more = f" and {len(listed) - SHOWN_TRIALS} more" if len(listed) > SHOWN_TRIALS else ""
    return f"trial{'s' if listed[1:] else ''} {shown}{more}"
