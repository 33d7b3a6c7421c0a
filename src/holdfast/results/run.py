"""The results of `run` and of the commands about runs."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, UnsetType

from holdfast.core.run.event import RunStage
from holdfast.core.run.requested_job import RequestedRun
from holdfast.results import Result, ResultPart
from holdfast.results.attempt import AttemptResult
from holdfast.results.check import CheckResult
from holdfast.results.plan import EstimateRange
from holdfast.results.refusal import RunRefusal
from holdfast.results.rehearse import RehearseResult


class DeliveryResult(ResultPart, frozen=True, kw_only=True):
    """Whether a push arrived on the Hub.

    Attributes:
        repository: The repository that it was pushed to.
        verdict: `unknown` if the Hub could not be reached.
        because: What is missing, or why the Hub could not be reached.
        folder: The folder that was pushed, if known.
    """

    repository: str
    verdict: Literal["arrived", "missing", "unknown"]
    because: str
    folder: str | None


class NextCommand(ResultPart, frozen=True, kw_only=True):
    """A command that makes sense in the current state of a run.

    Attributes:
        label: Its purpose, in two words.
        command: The command.
        effect: What it does.
    """

    label: str
    command: str
    effect: str


class RunDatasetEvaluation(ResultPart, frozen=True, kw_only=True):
    """The evaluation of the final model on one dataset.

    Attributes:
        dataset: The dataset.
        said: The outcome in one sentence.
        metric: The main metric; empty if the dataset failed.
        rows: How many rows have a value.
        value: The final model's value.
        low: The lower end of its 95 % interval.
        high: Its upper end.
        base: The base model's value; null if there is no base.
        verdict: Whether the final model is better, by the interval of the difference; null if there is no base.
    """

    dataset: str
    said: str
    metric: str = ""
    rows: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    base: float | None = None
    verdict: Literal["better", "worse", "undecided"] | None = None


class RunEvaluation(ResultPart, frozen=True, kw_only=True):
    """The evaluation of the final model, if the job asks for one.

    Attributes:
        verdict: `fail` if a condition does not hold or a dataset failed; `skipped` if nothing was evaluated.
        because: What failed, or why it was skipped; empty if all went well.
        files: All results, as `holdfast evaluate` prints them in JSON.
        datasets: The outcome for each dataset; absent in the result of `runs`.
    """

    verdict: Literal["pass", "fail", "skipped"]
    because: str
    files: Sequence[str]
    datasets: Sequence[RunDatasetEvaluation] | UnsetType = UNSET


class RunExport(ResultPart, frozen=True, kw_only=True):
    """The export of the final model, if the job asks for one.

    Attributes:
        verdict: `fail` if a file is missing that the job asks for; `skipped` if a person stopped the export, or if another machine makes it (`output.export_on`).
        because: What failed, or why it was skipped; empty if all went well.
        folder: The folder of the export; empty if there is none.
        files: The GGUF files in it.
    """

    verdict: Literal["pass", "fail", "skipped"]
    because: str
    folder: str
    files: Sequence[str]


class RunResult(Result, frozen=True, kw_only=True):
    """A run.

    Attributes:
        verb: The command whose result it is.
        run: The run's name.
        stage: Its stage.
        because: Why it ended; empty until then.
        refused_by: What refused it before it was started; null if nothing did.
        attempts: Its attempts, oldest first.
        metrics: The newest value of each metric.
        metric_steps: The step after which each of them was measured; absent before the first.
        folder: Its folder.
        output: The folder of the trained model; null until it has succeeded, and if a script saved none.
        pushed: The repository that the model was pushed to; null until the run has succeeded.
        deliveries: Whether each push arrived on the Hub.
        cost_usd: The cost of its attempts so far, by their time and the list price of their hardware; 0 on hardware without a price.
        remaining_s: Seconds to its last step; absent if unknown.
        asked: The request that it was started with.
        started_at: Unix time.
        next: Commands that make sense now.
        check: The result of `check`; present if it refused the run.
        rehearsal: The result of the rehearsal; present if it refused the run.
        summary: The outcome in one sentence; present if the run ended during this command.
        refusal: The reasons why it was refused; present in the result of `show`.
        rehearsed: The outcome of the rehearsal before it, in one line; present in the result of `show`, null if the run was
            not rehearsed.
        evaluation: The evaluation of the final model; absent if there was none.
        export: The export of the final model; absent if there was none.
        short_run: The name of the run that tried the job first; absent without `--try`.
        schedule: The times at which its backend starts it by itself; absent if it has no schedule.
        supervised: Whether a process supervises it; absent in the results of `run`, `resume` and `stop`.
        removed: Why its model was removed on purpose, by `keep` of a study; only of such a run.
        others: Older runs that match the same name; absent if there are none.
    """

    verb: Literal["run", "show", "watch"]
    run: str
    stage: RunStage
    because: str
    refused_by: Literal["check", "rehearsal"] | None
    attempts: Sequence[AttemptResult]
    metrics: Mapping[str, float]
    folder: str
    output: str | None
    pushed: str | None
    deliveries: Sequence[DeliveryResult]
    cost_usd: float
    asked: RequestedRun
    started_at: float
    next: Sequence[NextCommand]
    check: CheckResult | None = None
    rehearsal: RehearseResult | None = None
    summary: str | None = None
    refusal: Sequence[RunRefusal] | UnsetType = UNSET
    rehearsed: str | UnsetType | None = UNSET
    evaluation: RunEvaluation | UnsetType = UNSET
    export: RunExport | UnsetType = UNSET
    short_run: str | UnsetType = UNSET
    remaining_s: EstimateRange | None = None
    schedule: str | UnsetType = UNSET
    supervised: bool | None = None
    metric_steps: Mapping[str, int] | UnsetType = UNSET
    removed: str | UnsetType = UNSET
    others: Sequence[str] | UnsetType = UNSET

    @property
    def is_unsupervised(self) -> bool:
        """Whether it has started and not ended, and no process supervises it; before its first attempt none has to."""
        return not self.stage.ended and bool(self.attempts) and self.supervised is False

    @property
    def exit_code(self) -> int:
        """1 where it failed, was refused or was cancelled, or where the evaluation or the export of its final model failed."""
        after = [each.verdict for each in (self.evaluation, self.export) if each is not UNSET]
        return int("fail" in after or self.stage in (RunStage.FAILED, RunStage.CANCELLED))


class UnreadableRun(ResultPart, frozen=True, kw_only=True):
    """A run whose events cannot be read.

    Attributes:
        run: Its name.
        because: What is wrong.
        where: The line of its journal.
        fix: What to do.
    """

    run: str
    because: str
    where: str
    fix: str


class ListedJob(ResultPart, frozen=True, kw_only=True):
    """A job that holdfast, on any machine, started on a backend.

    Attributes:
        id: The backend's id of it.
        run: The run that it belongs to.
        attempt: The number of the attempt; null if a schedule started it.
        stage: Its stage; null if the backend calls it by a word that is not known.
        message: What the backend says of it; may be empty.
        hardware: Its hardware.
        started_at: Unix time of its submission; null if unknown.
        page: The address of its page.
    """

    id: str
    run: str
    attempt: int | None
    stage: RunStage | None
    message: str
    hardware: str
    started_at: float | None
    page: str


class ListedSchedule(ResultPart, frozen=True, kw_only=True):
    """A schedule that holdfast, on any machine, created on a backend.

    Attributes:
        id: The backend's id of it.
        run: The run whose job it starts.
        times: When it starts jobs: `@daily`, or five fields of cron.
        next_at: Unix time of the next start; null if there is none.
        suspended: Whether it starts nothing until it is resumed.
    """

    id: str
    run: str
    times: str
    next_at: float | None
    suspended: bool


class RemoteRunsResult(Result, frozen=True, kw_only=True):
    """What holdfast, on any machine, started in an account of a backend.

    Attributes:
        account: The account.
        jobs: The jobs, the newest first.
        schedules: The schedules.
        complete: Whether all jobs of the account were looked at; else there are older ones.
    """

    verb: Literal["runs"]
    account: str
    jobs: Sequence[ListedJob]
    schedules: Sequence[ListedSchedule]
    complete: bool


class RunsResult(Result, frozen=True, kw_only=True):
    """The runs of a runs folder.

    Attributes:
        runs: Each run, oldest first.
        unreadable: Runs whose events cannot be read.
    """

    verb: Literal["runs"]
    runs: Sequence[RunResult]
    unreadable: Sequence[UnreadableRun] = ()


class LogsResult(Result, frozen=True, kw_only=True):
    """The output of an attempt's training process.

    Attributes:
        run: The run's name.
        attempt: The attempt's number.
        folder: The attempt's folder.
        stdout: Its standard output; of more than 32 MB the beginning and the end, with a line that says how much is left out.
        stderr: Its standard error, likewise.
    """

    verb: Literal["logs"]
    run: str
    attempt: int
    folder: str
    stdout: str
    stderr: str


class DamagedFile(ResultPart, frozen=True, kw_only=True):
    """A problem with one file of a checkpoint.

    Attributes:
        file: Its name, relative to the checkpoint.
        message: What is wrong.
    """

    file: str
    message: str


class VerifyResult(Result, frozen=True, kw_only=True):
    """Whether a checkpoint, or a model's folder, is complete.

    Attributes:
        verdict: `unverifiable` if nothing says what was saved, or none of it is here.
        path: The folder.
        step: Optimizer steps done when it was saved; null if unknown.
        problems: The problems, by file.
    """

    verb: Literal["verify"]
    verdict: Literal["whole", "damaged", "unverifiable"]
    path: str
    step: int | None
    problems: Sequence[DamagedFile]

    @property
    def exit_code(self) -> int:
        """1 unless it is whole."""
        return int(self.verdict != "whole")


class RunEffects(ResultPart, frozen=True, kw_only=True):
    """What a run does beyond this machine.

    Attributes:
        pushes: The repositories that it may push to.
        backend: Where it runs, if that may cost money; else empty.
        costs: Whether that, or a job that its source starts elsewhere, may cost money.
        digest: A hash of what decides what it does: its script, its arguments, and the sources and settings beside it.
        accepts: The settings that may differ from its checkpoint's because the call accepts that, a sentence each.
        most_usd: The most that its machines may cost, by its budget or its timeout; null if that is not known.
        submits: Whether its source may start another job elsewhere.
    """

    pushes: Sequence[str]
    backend: str
    costs: bool
    digest: str
    accepts: Sequence[str] = ()
    most_usd: float | None = None
    submits: bool = False
