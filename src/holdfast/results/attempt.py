"""The attempts of a run, as results show them."""

from collections.abc import Sequence
from typing import Literal

from msgspec import field

from holdfast.core.diagnose.diagnosis import Retry
from holdfast.core.run.event import RunStage
from holdfast.core.run.remedy import Kept, Permission
from holdfast.core.run.trouble import TroubleKind
from holdfast.results import ResultPart
from holdfast.results.diagnose import RemedyEdit


class AttemptDiagnosis(ResultPart, frozen=True, kw_only=True):
    """Why an attempt failed.

    Attributes:
        name: The class of failure. In JSON: `class`.
        title: What is wrong, in one line.
        fix: How to fix it.
        retry: Whether another attempt can help.
        confidence: Between 0 and 1.
        stops: Why no attempt followed, if that is known; else empty.
        where: What its processes were doing when it stalled, and the files with their stacks; or which of several processes
            failed first, and how; else empty.
        rank: The process that the failure began in, of several; null if that is not known.
    """

    name: str = field(name="class")
    title: str
    fix: str
    retry: Retry
    confidence: float
    stops: str
    where: str
    rank: int | None


class AttemptRecovery(ResultPart, frozen=True, kw_only=True):
    """The change after a failed attempt that let the run continue.

    Attributes:
        permission: The entry of `recover.allow` that permits it; null if it needs none, because it does not change the training.
        because: Why.
        skips: The first and the last step whose batches are skipped; null if none are.
        resumes_until: The last step whose checkpoint can be continued from; 0 if training starts over; null if all can.
        keeps: What stays the same: `effective_batch`, `data_order`, `optimizer`, `learning_rate`.
        differs: What does not stay exactly the same.
        undo: The options that restore the original settings; empty if none was changed.
    """

    permission: Permission | None
    because: str
    skips: tuple[int, int] | None
    resumes_until: int | None
    keeps: Sequence[Kept]
    differs: Sequence[str]
    undo: str


class AttemptTrouble(ResultPart, frozen=True, kw_only=True):
    """A sign of trouble in an attempt, which does not end it.

    Attributes:
        kind: What kind of sign.
        text: What was seen, with the numbers.
        step: Optimizer steps done then.
    """

    kind: TroubleKind
    text: str
    step: int


class AttemptResume(ResultPart, frozen=True, kw_only=True):
    """How the settings of an attempt compare with those that its checkpoint was saved with.

    Attributes:
        verdict: `unknown` if the checkpoint does not say how it was saved; `refused` if the attempt ended because of the changes, before
            its first step; `accepted` if a person accepted them, or if only the rows differ and no person started the attempt; `ignored` if
            training began, but not from the checkpoint.
        changes: What differs.
    """

    verdict: Literal["same", "accepted", "refused", "unknown", "ignored"]
    changes: Sequence[RemedyEdit]


class ChosenCheckpoint(ResultPart, frozen=True, kw_only=True):
    """The checkpoint that the trainer loads after training.

    Attributes:
        path: Its folder.
        metric: The metric that chose it.
        value: Its value; null if not finite.
    """

    path: str
    metric: str
    value: float | None


class AttemptResult(ResultPart, frozen=True, kw_only=True):
    """An attempt of a run.

    Attributes:
        number: Counted from 1.
        backend: Where it ran.
        id: The backend's name for it; empty until the backend accepts it.
        stage: Its stage.
        steps: Optimizer steps done, counted over all attempts.
        max_steps: Optimizer steps that the trainer plans; null until it reports them.
        resume_from: The checkpoint that it continued from; null if it started from the beginning.
        passed_over: Newer checkpoints from which it could not continue, each with the problem.
        resumed: How its settings compare with those that this checkpoint was saved with; null until it reports that.
        best: The checkpoint whose model it ended with; null if that of the last step.
        exit_code: Negative for a signal; null if unknown.
        diagnosis: Why it failed. Null if it did not, if no cause was found, or if no other attempt was allowed to follow; then use
            `holdfast diagnose`.
        remedy: The settings that were changed for the attempts that follow. Null if nothing was.
        recovery: Why they were changed, and with which side effects. Null if nothing was changed.
        troubles: Signs of trouble that were noted while it ran, oldest first.
    """

    number: int
    backend: str
    id: str
    stage: RunStage
    steps: int
    max_steps: int | None
    resume_from: str | None
    passed_over: Sequence[str]
    resumed: AttemptResume | None
    best: ChosenCheckpoint | None
    exit_code: int | None
    diagnosis: AttemptDiagnosis | None
    remedy: Sequence[RemedyEdit] | None
    recovery: AttemptRecovery | None
    troubles: Sequence[AttemptTrouble]
