"""A fault that was injected into the rehearsal of a job, and what a run of the job would make of it."""

from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.run.remedy import SettingChange

FaultName = Literal[
    "kill", "sigterm", "stall", "nan-gradients", "oom-train", "oom-eval", "disk-full", "truncated-checkpoint",
    "hub-429", "hub-503", "expired-token",
]  # fmt: skip
FAULTS: Final[tuple[FaultName, ...]] = (
    "kill", "sigterm", "stall", "nan-gradients", "oom-train", "oom-eval", "disk-full", "truncated-checkpoint",
    "hub-429", "hub-503", "expired-token",
)  # fmt: skip
FaultStatus = Literal["recovers", "resumes", "stops", "loses", "fails", "skipped"]
"""What becomes of the training: `recovers` without a person; `resumes` when a person asks for it; `stops` until a person has changed
something; `loses` all that was trained; `fails` though it should go on; `skipped` if the fault cannot be injected."""
FaultAction = Literal["continues", "changes", "stops", "finishes"]
LossAgreement = Literal["same", "rounded", "differs", "not_compared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedFault:
    """A fault that was injected, and what a run would do after it.

    Attributes:
        name: The fault.
        status: The outcome for the training; `skipped` is not a pass.
        because: Why it was skipped, why the training is lost, or why it does not continue; null otherwise.
        step: The step in which it struck; null if it did not.
        steps: The steps of the rehearsed training.
        said: What the libraries reported; null if nothing.
        diagnosis: The class of failure that the diagnosis names; null if none.
        rank: The process that the diagnosis names, of several; null if it names none.
        where: Where the failure began, by the diagnosis; null if it does not say.
        is_cause: Whether that is the injected fault, and the process that it struck; null if nothing was diagnosed, because nothing failed.
        action: What the run does: it `continues` as it is, `changes` settings and continues, `stops`, or `finishes` as if nothing had happened.
        verdict: The reason that the run gives for its end; null if it recovers.
        changes: The settings that are changed.
        skips: The first and the last step whose batches are left out; null if none are.
        differs: What does not stay exactly the same after that.
        passed_over: Newer checkpoints from which it does not continue, each with the problem.
        resume_from: The checkpoint from which it continues, or would; null if training starts over.
        lost_steps: Steps that are trained again; null if no attempt followed.
        played: Whether the following attempts were played to their end.
        loss: How the losses after that compare with those of the undisturbed training: `same` is bit for bit.
        same_weights: Whether the final weights equal those of the undisturbed training, bit for bit; null if no weights were compared.
    """

    name: FaultName
    status: FaultStatus
    because: str | None = None
    step: int | None = None
    steps: int | None = None
    said: str | None = None
    diagnosis: str | None = None
    rank: int | None = None
    where: str | None = None
    is_cause: bool | None = None
    action: FaultAction | None = None
    verdict: str | None = None
    changes: tuple[SettingChange, ...] = ()
    skips: tuple[int, int] | None = None
    differs: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    resume_from: str | None = None
    lost_steps: int | None = None
    played: bool = False
    loss: LossAgreement = "not_compared"
    same_weights: bool | None = None
