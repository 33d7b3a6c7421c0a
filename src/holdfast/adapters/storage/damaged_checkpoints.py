"""Damaged checkpoints of a run: set aside, where no trainer looks, and never deleted.

Left in place, one would count for `save_total_limit`, so that a whole one is deleted for it, and the next save of its step would be mixed with it.
"""

from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from holdfast.core.run.checkpoint import CUT_SHORT, CheckpointIntegrity, describe_damage

DAMAGED: Final = "damaged"
"""The folder beside the checkpoints."""


def set_aside(checkpoint: CheckpointIntegrity) -> str:
    """Move a checkpoint that is damaged, or whose save was cut short; return what is wrong with it, and where it is.

    One that is whole, or of which nobody knows whether it is, is left where it is; so is one that cannot be moved.
    """
    said, path = describe_damage(checkpoint), Path(checkpoint.path)
    is_cut = any(each.message == CUT_SHORT for each in checkpoint.problems)
    if checkpoint.verdict != "damaged" and not is_cut:
        return said
    with suppress(OSError):
        (path.parent / DAMAGED).mkdir(exist_ok=True)
        to = _free_name(path.parent / DAMAGED / path.name)
        path.rename(to)
        return f"{said}; set aside as {DAMAGED}/{to.name}"
    return said


def _free_name(path: Path) -> Path:
    """Return a path where nothing is yet: the given one, or with a number."""
    names = (path if number == 1 else path.with_name(f"{path.name}-{number}") for number in count(1))
    return next(each for each in names if not each.exists())
