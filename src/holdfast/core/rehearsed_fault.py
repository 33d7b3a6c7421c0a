"""A fault that was injected into the rehearsal of a job, and what a run of the job would make of it."""

from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.remedy import SettingChange

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
    """A fault that was injected, and what a run would make of it.

    Attributes:
        name: The fault.
        status: What becomes of the training; `skipped` is not a pass.
        because: Why it was skipped, why the training is lost or does not go on; null if there is nothing to say.
        step: The step in which it struck; null if it did not.
        steps: The steps of the rehearsed training.
        said: What the libraries said of it; null if nothing.
        diagnosis: The class of failure that the diagnosis names; null if none.
        is_cause: Whether that is the injected fault; null if nothing was diagnosed, since nothing failed.
        action: What the run does: it `continues` as it is, `changes` settings and continues, `stops`, or `finishes` as if nothing had been.
        verdict: The reason that the run gives for its end; null if it recovers.
        changes: The settings that are changed.
        skips: The first and the last step whose batches are left out; null if none are.
        differs: What is not exactly as it was after that.
        passed_over: Newer checkpoints that are not continued from, each with what is wrong.
        resume_from: The checkpoint that it continues from, or would; null if training begins anew.
        lost_steps: Steps that are trained again; null if no attempt followed.
        played: Whether the attempts that follow were played to their end.
        loss: How the losses after that compare with those of the undisturbed training: `same` is bit for bit.
        same_weights: Whether they ended with the weights of the undisturbed training, bit for bit; null if no weights were compared.
    """

    name: FaultName
    status: FaultStatus
    because: str | None = None
    step: int | None = None
    steps: int | None = None
    said: str | None = None
    diagnosis: str | None = None
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
