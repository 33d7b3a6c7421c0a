"""What the supervisor can do: the actions that `engine.run.supervise` yields and `engine.run.drive` carries out."""

from dataclasses import dataclass

from holdfast.core.run.event import RunStage, Stopper
from holdfast.core.run.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Start:
    """Submit an attempt to the backend; if the ledger does not say that the backend accepted it, the same one again.

    Attributes:
        number: Counts from 1.
        resume: Whether it continues from a checkpoint.
        timeout_s: Seconds that are left of the run's timeout, if attempts before it have used a part; None if none has.
    """

    number: int
    resume: bool
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """Look at the attempt after a pause."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask the attempt to save and end."""

    by: Stopper


@dataclass(frozen=True, slots=True)
class TakeStacks:
    """Have the attempt write its stacks, which show where it hangs."""


@dataclass(frozen=True, slots=True)
class Note:
    """Write down a sign of trouble."""

    trouble: Trouble


@dataclass(frozen=True, slots=True)
class Kill:
    """End an attempt that did not stop when that was requested."""


@dataclass(frozen=True, slots=True)
class FindCause:
    """Find out why the newest attempt failed, and whether another one of so many follows."""

    attempts: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause before the next attempt; the person may stop or detach from the run meanwhile."""

    for_s: float


@dataclass(frozen=True, slots=True)
class Verify:
    """Find out whether what was pushed to a repository is there."""

    repository: str


@dataclass(frozen=True, slots=True)
class EvaluateModel:
    """Evaluate the final model as the job asks."""


@dataclass(frozen=True, slots=True)
class ExportModel:
    """Export the final model as the job asks."""


@dataclass(frozen=True, slots=True)
class Close:
    """Write down the verdict."""

    stage: RunStage
    because: str


Action = (
    Start | Poll | Stop | TakeStacks | Note | Kill | FindCause | Pause | Verify | EvaluateModel | ExportModel | Close
)
