"""The results of `run` and of the commands about runs."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, UnsetType

from holdfast.core.event import Stage
from holdfast.results import Result, ResultPart
from holdfast.results.check import CheckResult
from holdfast.results.rehearse import RehearseResult


class AttemptResult(ResultPart, frozen=True, kw_only=True):
    """An attempt of a run.

    Attributes:
        number: Counted from 1.
        backend: Where it ran.
        id: The backend's name for it; empty until the backend took it.
        stage: Where it stands.
        steps: Optimizer steps done, counted over all attempts.
        max_steps: Optimizer steps that the trainer means to do; null before it said so.
        resume_from: The checkpoint that it continued from; null where it began anew.
        passed_over: Newer checkpoints that it could not continue from, each with what is wrong.
        exit_code: Negative for a signal; null where nobody knows it.
        diagnosis: Why it failed: always null so far, `holdfast diagnose` says it.
        remedy: What was changed for the next attempt: always null so far.
    """

    number: int
    backend: str
    id: str
    stage: Stage
    steps: int
    max_steps: int | None
    resume_from: str | None
    passed_over: Sequence[str]
    exit_code: int | None
    diagnosis: None
    remedy: None


class DeliveryResult(ResultPart, frozen=True, kw_only=True):
    """Whether what was pushed is on the Hub.

    Attributes:
        repository: Where it was pushed to.
        verdict: Unknown where the Hub could not be asked.
        because: What is missing, or why the Hub could not be asked.
        folder: The folder that was pushed, where it is known.
    """

    repository: str
    verdict: Literal["arrived", "missing", "unknown"]
    because: str
    folder: str | None


class RequestedRun(ResultPart, frozen=True, kw_only=True):
    """What a run was started with.

    Attributes:
        job: The job's name.
        target: The job file or script.
        backend: Where it is to run.
        method: The job's method; absent, with what follows, where a script was named.
        model: The job's model.
        dataset: The job's dataset.
        pushed: The repository that the job pushes to.
    """

    job: str = ""
    target: str = ""
    backend: str = ""
    method: str | None = None
    model: str | None = None
    dataset: str | None = None
    pushed: str | None = None


class RunRefusal(ResultPart, frozen=True):
    """One thing that forbids a run.

    Attributes:
        code: The rule, or the class of failure.
        message: What is wrong.
        where: The line, as `train.py:12`; null where none is to blame.
        fix: What to do; null where it is not known.
    """

    code: str
    message: str
    where: str | None
    fix: str | None


class NextCommand(ResultPart, frozen=True, kw_only=True):
    """A command that makes sense for a run as it stands.

    Attributes:
        label: What it is for, in two words.
        command: The command.
        effect: What it does.
    """

    label: str
    command: str
    effect: str


class RunResult(Result, frozen=True, kw_only=True):
    """A run.

    Attributes:
        verb: The command that answers.
        run: The run's name.
        stage: Where it stands.
        because: Why it ended; empty while it goes on.
        refused_by: What refused it before it was started; null where nothing did.
        attempts: Its attempts, oldest first.
        metrics: The newest value of each metric.
        folder: Its folder.
        output: The folder of the trained model; null until it has succeeded.
        pushed: The repository that the model was pushed to; null until the run has succeeded.
        deliveries: What was found on the Hub of all that was pushed.
        cost_usd: What it cost; 0 as yet, since only local runs are supported.
        asked: What it was started with.
        started_at: Unix time.
        next: Commands that make sense now.
        check: What `check` found; present where that refused it.
        rehearsal: What the rehearsal showed; present where that refused it.
        summary: How it went, in one sentence; present where this command saw it end.
        refusal: What forbids it; present in the answer of `show`.
        supervised: Whether a process supervises it; absent in the answers of `run`, `resume` and `stop`.
    """

    verb: Literal["run", "show", "watch"]
    run: str
    stage: Stage
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
    supervised: bool | None = None

    @property
    def is_unsupervised(self) -> bool:
        """Whether it has started and not ended, and no process supervises it; before its first attempt none has to."""
        return not self.stage.ended and bool(self.attempts) and self.supervised is False

    @property
    def exit_code(self) -> int:
        """1 where it failed, was refused or was cancelled."""
        return int(self.stage in (Stage.FAILED, Stage.CANCELLED))


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
        stdout: Its standard output.
        stderr: Its standard error.
    """

    verb: Literal["logs"]
    run: str
    attempt: int
    folder: str
    stdout: str
    stderr: str


class DamagedFile(ResultPart, frozen=True, kw_only=True):
    """What is wrong with one file of a checkpoint.

    Attributes:
        file: Its name, relative to the checkpoint.
        message: What is wrong.
    """

    file: str
    message: str


class VerifyResult(Result, frozen=True, kw_only=True):
    """Whether a checkpoint, or a model's folder, is complete.

    Attributes:
        verdict: `unverifiable` where nothing says what was saved.
        path: The folder.
        step: Optimizer steps done when it was saved; null where nothing says.
        problems: What is wrong, by file.
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
