"""To which trackers a program reports, and where its training, which reports to them, begins."""

from typing import Any

from holdfast.core.calls import Call
from holdfast.core.document import Document


def reported_trackers(job: Document) -> list[Any]:
    """Return what `report_to` names; of a config without it, None alone.

    Raises:
        MissingFactError: The source hides it.
    """
    stated = job.get("train.report_to", None)
    return stated if isinstance(stated, list) else [stated]


def starts_training(call: Call) -> bool:
    """True if a call is of a trainer's `train`."""
    return call.name == "train" and call.path.rpartition(".")[0].endswith("Trainer")
