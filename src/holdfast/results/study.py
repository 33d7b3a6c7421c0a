"""The result of `study`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import field

from holdfast.results import Result, ResultPart

TrialStage = Literal["waiting", "queued", "running", "succeeded", "failed", "cancelled", "refused", "pruned"]


class StudyTrialResult(ResultPart, frozen=True, kw_only=True):
    """A trial.

    Attributes:
        number: Its number, in the order of the study file.
        settings: The values that it changes in the job, by dotted key.
        seed: Its seed; null if the study has no `seeds`.
        content: The hash of everything that determines its result: a trial with the same content is not run again.
        run: The run's name; null if it has none yet.
        stage: Its stage: that of its run, `waiting` if it has none, `refused` if the check or the rehearsal refused it, `pruned` if the
            study stopped it early.
        value: The metric's value; null if it has none.
        metrics: The newest value of each metric.
        elapsed_s: The total time of its attempts.
        pruned: Why the study stopped it early; empty if it did not.
    """

    number: int
    settings: Mapping[str, Any]
    seed: int | None
    content: str
    run: str | None
    stage: TrialStage
    value: float | None
    metrics: Mapping[str, float]
    elapsed_s: float
    pruned: str


class StudySettingResult(ResultPart, frozen=True, kw_only=True):
    """A setting, over its seeds.

    Attributes:
        settings: The setting, by dotted key.
        trials: The numbers of its trials.
        values: The values of the metric, one for each trial that has one.
        mean: Their mean; null if there are none.
        low: The lower end of its 95 % t-interval over seeds; null with fewer than two values, or if all are equal, because the noise is unknown.
        high: Its upper end.
        difference: The mean minus that of the best setting; null for the best, and without a value.
        difference_low: The lower end of the difference's 95 % interval; null if the noise is unknown.
        difference_high: Its upper end.
        p_value: The probability of such a difference if the true one were 0, by Holm for all comparisons with the best; null if the noise is unknown.
        verdict: `best`; `worse` if the p-value is below 0.05; `within noise` if it is not; `unknown` if the noise is unknown; `other rows` if it was
            measured on other rows than the best, so that the difference does not tell which is better; without a value,
            `pruned` if the study stopped one of its trials early, else `no value`.
    """

    settings: Mapping[str, Any]
    trials: Sequence[int]
    values: Sequence[float]
    mean: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p_value: float | None
    verdict: Literal["best", "worse", "within noise", "unknown", "other rows", "pruned", "no value"]


class StudyBest(ResultPart, frozen=True, kw_only=True):
    """The best setting: of those with a value for most seeds, the one with the best mean.

    Attributes:
        settings: The setting, by dotted key.
        metric: The metric.
        value: The mean over its seeds.
        low: The lower end of its 95 % t-interval over seeds; null with one seed, because the noise is unknown.
        high: Its upper end.
        seeds: How many values the mean has.
        run: The run of its best trial.
        model: The folder of that run's model.
    """

    settings: Mapping[str, Any]
    metric: str
    value: float
    low: float | None
    high: float | None
    seeds: int
    run: str
    model: str


class SettingImportance(ResultPart, frozen=True, kw_only=True):
    """How much of the differences between trials one key explains alone.

    Attributes:
        key: The key of the job, or `seed`.
        share: Between 0 and 1: omega squared of the ranks of the values.
    """

    key: str
    share: float


class FailedTrial(ResultPart, frozen=True, kw_only=True):
    """A trial that failed.

    Attributes:
        number: Its number.
        run: The run's name; null if it was not started.
        settings: Its setting, by dotted key.
        name: The class of failure, for `holdfast explain`; empty if the cause is not known. In JSON: `class`.
        because: Why it failed.
        fix: What to do; empty if that is not known.
    """

    number: int
    run: str | None
    settings: Mapping[str, Any]
    name: str = field(name="class")
    because: str
    fix: str


class StudyEstimate(ResultPart, frozen=True, kw_only=True):
    """The remaining trials.

    Attributes:
        trials: How many trials remain.
        permitted: How many of them are left of `budget.trials`; 0 if the budget is used up. Time and cost are theirs.
        rehearsals: How many different shapes of jobs are among them: each is rehearsed once.
        low_s: The lower end of the estimated time; null if unknown.
        high_s: The most.
        trial_low_s: The lower end of the estimated time of one trial; null if unknown.
        trial_high_s: The most.
        low_usd: The lower end of the estimated cost; null if the hardware has no price, or the time is unknown.
        high_usd: The most.
        because: The basis of the estimate, or why there is none.
    """

    trials: int
    permitted: int
    rehearsals: int
    low_s: float | None
    high_s: float | None
    trial_low_s: float | None
    trial_high_s: float | None
    low_usd: float | None
    high_usd: float | None
    because: str


class StudyResult(Result, frozen=True, kw_only=True):
    """A study.

    Attributes:
        study: Its name.
        verdict: `planned` if no trial was started; `complete` if every trial has a value; `failed` if all have ended and some failed;
            `limited` if the budget is used up; `incomplete` if trials remain.
        because: Why it ended before its last trial; empty if it did not.
        caveat: Why the values of some settings are not comparable; empty if they are.
        metric: The metric that trials are compared by.
        direction: Which value is the best.
        best: The best setting; null if no trial has a value.
        settings: Every setting, the best first.
        importance: The keys that explain most of the differences, the most important first; empty with fewer than 12 values.
        failed: The trials that failed, each with its cause.
        trials: Every trial.
        remaining: The remaining trials.
        elapsed_s: The total time of all trials.
        folder: The folder of the study, with its table and its report.
    """

    verb: Literal["study"]
    study: str
    verdict: Literal["planned", "complete", "failed", "limited", "incomplete"]
    because: str
    caveat: str
    metric: str
    direction: Literal["minimize", "maximize"]
    best: StudyBest | None
    settings: Sequence[StudySettingResult]
    importance: Sequence[SettingImportance]
    failed: Sequence[FailedTrial]
    trials: Sequence[StudyTrialResult]
    remaining: StudyEstimate
    elapsed_s: float
    folder: str

    @property
    def exit_code(self) -> int:
        """1 if trials failed, or if it was ended before its last trial by anything but its budget."""
        return int(bool(self.failed) or (self.verdict == "incomplete" and bool(self.because)))
