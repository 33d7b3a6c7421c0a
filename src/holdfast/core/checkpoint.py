"""Whether a checkpoint, or a model's folder, is what was saved."""

from dataclasses import dataclass
from typing import Literal

IntegrityVerdict = Literal["whole", "damaged", "unverifiable"]


@dataclass(frozen=True, slots=True)
class CheckpointProblem:
    """What is wrong with one file; its name is relative to the checkpoint."""

    file: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointIntegrity:
    """What was found out about a checkpoint.

    Attributes:
        path: Its folder.
        step: Optimizer steps done when it was saved, or None where nothing says.
        verdict: Whole where every file has the size and the hash that the manifest gives it; unverifiable without
            a manifest, which is written last: the save may have been cut short.
        problems: All that was found, in the order of the files.
    """

    path: str
    step: int | None
    verdict: IntegrityVerdict
    problems: tuple[CheckpointProblem, ...] = ()


def describe_damage(checkpoint: CheckpointIntegrity) -> str:
    """Return what is wrong with a checkpoint, in one sentence without an end.

    >>> lost = CheckpointProblem("optimizer.pt", "missing")
    >>> describe_damage(CheckpointIntegrity(path="out/checkpoint-8", step=8, verdict="damaged", problems=(lost, lost)))
    'checkpoint-8: optimizer.pt is missing, and 1 more problem'
    """
    first, *others = checkpoint.problems or (CheckpointProblem("it", checkpoint.verdict),)
    more = f", and {len(others)} more problem{'s' * (len(others) > 1)}" if others else ""
    return f"{checkpoint.path.rpartition('/')[2]}: {first.file} is {first.message}{more}"
