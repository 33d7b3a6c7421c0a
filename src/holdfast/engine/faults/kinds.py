"""The faults that a rehearsal can inject."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.errors import UsageError
from holdfast.core.rehearse.rehearsed_fault import FAULTS, FaultName

ALL: Final = "all"
Needs = Literal["step", "evaluation", "save", "checkpoint", "push"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """A fault.

    Attributes:
        name: Its name.
        needs: What a training must have for it to strike: a step, an evaluation or a save after that, a checkpoint before it, a push.
        classes: Classes of failure that name it.
        passes: Whether it is over when the job is started again.
    """

    name: FaultName
    needs: Needs
    classes: tuple[str, ...]
    passes: bool = True


SIGNALLED: Final = ("job-cancelled-externally", "job-preempted-or-requeued")
KILLED: Final = (*SIGNALLED, "cpu-ram-oom-kill")  # the kernel's kills on a service's machine are not known
RANK_DIED: Final = "rank-died-peers-abort"
KINDS: Final[tuple[FaultKind, ...]] = (
    FaultKind(name="kill", needs="step", classes=(*KILLED, RANK_DIED)),
    FaultKind(name="sigterm", needs="step", classes=SIGNALLED),
    FaultKind(name="stall", needs="step", classes=("training-stalled",)),
    FaultKind(name="nan-gradients", needs="step", classes=("nan-loss-silent-success",), passes=False),
    FaultKind(name="oom-train", needs="step", classes=("cuda-oom-train-step", "cuda-oom-long-sample"), passes=False),
    FaultKind(name="oom-eval", needs="evaluation", classes=("cuda-oom-eval",), passes=False),
    FaultKind(name="disk-full", needs="save", classes=("disk-full",)),
    FaultKind(name="truncated-checkpoint", needs="checkpoint", classes=KILLED),
    FaultKind(name="hub-429", needs="push", classes=("hub-rate-limited",)),
    FaultKind(name="hub-503", needs="push", classes=("hub-upload-transient",)),
    FaultKind(name="expired-token", needs="push", classes=("hub-token-invalid",)),
)


def kinds_of(names: Sequence[str]) -> tuple[FaultKind, ...]:
    """Return the faults of some names, each once, in the order of `FAULTS`; `all` stands for all.

    >>> [kind.name for kind in kinds_of(["stall,kill"])]
    ['kill', 'stall']

    Raises:
        UsageError: There is no such fault.
    """
    wanted = {name.strip() for text in names for name in text.split(",")}
    if unknown := sorted(wanted - {ALL, *FAULTS}):
        fix = f"the faults are {', '.join(FAULTS)}; `--faults` without a name, at the end of the command, injects all of them"
        raise UsageError(f"there is no fault {unknown[0]!r}", where="--faults", fix=fix)
    return tuple(kind for kind in KINDS if ALL in wanted or kind.name in wanted)
