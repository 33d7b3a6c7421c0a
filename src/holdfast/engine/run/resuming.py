"""How the settings of an attempt compare with those of its checkpoint, in words."""

from pathlib import PurePosixPath
from typing import Final

from holdfast.core.training_event import Resumed

RESTORED: Final = ("learning_rate", "weight_decay")
"""Settings that the optimizer's state brings along, whatever the job says. Source: `Optimizer.load_state_dict` of torch 2.13."""


def describe_resumption(resumed: Resumed) -> str:
    """Return what is to be said of the settings of an attempt that continues from a checkpoint; empty if nothing differs.

    >>> describe_resumption(Resumed(checkpoint="/out/checkpoint-8"))
    'the settings were not compared: checkpoint-8 does not say how it was saved'
    >>> describe_resumption(Resumed(checkpoint="/out/checkpoint-8", verdict="ignored", step=0))
    'training did not continue from checkpoint-8: it began at step 0'
    """
    name = PurePosixPath(resumed.checkpoint).name
    changes = "; ".join(map(str, resumed.changes))
    match resumed.verdict:
        case "unknown":
            return f"the settings were not compared: {name} does not say how it was saved"
        case "refused":
            return f"it did not continue from {name}, which was saved with other settings: {changes}"
        case "accepted":
            return f"it continues from {name} with other settings: {changes}{_kept_settings(resumed)}"
        case "ignored":
            return f"training did not continue from {name}: it began at step {resumed.step or 0}"
        case "same":
            return ""


def _kept_settings(resumed: Resumed) -> str:
    """Return which settings stay as the checkpoint has them, in brackets."""
    kept = [f"`{each.key}` stays {each.before}" for each in resumed.changes if each.key in RESTORED]
    return f" ({' and '.join(kept)}: the optimizer's state has it)" if kept else ""
