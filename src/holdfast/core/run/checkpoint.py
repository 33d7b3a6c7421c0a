"""Whether a checkpoint, or a model's folder, is what was saved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from holdfast.core.text.json_text import parse_json

KEPT_CHECKPOINTS: Final = 2
"""What the script of a job file keeps where the job does not say: `save_total_limit`."""
MANIFEST: Final = "holdfast-manifest.json"
"""The list of a checkpoint's files, which the runtime writes last."""
STATE: Final = "trainer_state.json"
RESUMABLE: Final = (STATE, "optimizer.pt", "scheduler.pt")
"""Files without which training cannot resume as it was.

Without one of the latter two transformers resumes all the same, with a fresh optimizer and schedule.
Source: `Trainer._load_optimizer_and_scheduler` of transformers 5.23.
"""
CUT_SHORT: Final = "missing: the save was cut short, since holdfast writes the manifest last"
NO_MANIFEST: Final = "unreadable: it is not a manifest of holdfast"
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
        step: Optimizer steps done when it was saved, or None if nothing says.
        verdict: Whole where every file has the size and the hash that the manifest gives it; unverifiable without
            a manifest, which is written last: the save may have been cut short; or if the manifest alone is here.
        problems: All that was found, in the order of the files.
    """

    path: str
    step: int | None
    verdict: IntegrityVerdict
    problems: tuple[CheckpointProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class PromisedFile:
    """A file as the manifest of its checkpoint describes it."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a checkpoint, by their names in its folder, and the optimizer steps done when it was saved."""

    step: int
    files: Mapping[str, PromisedFile]


def parse_manifest(text: str) -> Manifest:
    """Return the manifest that a text is.

    Raises:
        ValueError: It is none: no JSON, or a field is missing or of the wrong type.

    >>> parse_manifest('{"step": 8, "files": {"a.pt": {"bytes": 5, "sha256": "d4"}}}')
    Manifest(step=8, files={'a.pt': PromisedFile(bytes=5, sha256='d4')})
    >>> parse_manifest('{"step": 8, "files": []}')
    Traceback (most recent call last):
    msgspec.ValidationError: Expected `object`, got `array` - at `$.files`
    """
    return msgspec.convert(parse_json(text), Manifest)


def describe_damage(checkpoint: CheckpointIntegrity) -> str:
    """Return what is wrong with a checkpoint, in one sentence without an end.

    >>> lost = CheckpointProblem("optimizer.pt", "missing")
    >>> describe_damage(CheckpointIntegrity(path="out/checkpoint-8", step=8, verdict="damaged", problems=(lost, lost)))
    'checkpoint-8: optimizer.pt is missing, and 1 more problem'
    """
    first, *others = checkpoint.problems or (CheckpointProblem("it", checkpoint.verdict),)
    more = f", and {len(others)} more problem{'s' * (len(others) > 1)}" if others else ""
    return f"{checkpoint.path.rpartition('/')[2]}: {first.file} is {first.message}{more}"
