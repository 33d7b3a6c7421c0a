"""To which trackers a program reports."""

from typing import Any

from holdfast.core.job.document import Document


def reported_trackers(job: Document) -> list[Any]:
    """Return what `report_to` names; of a config without it, None alone.

    Raises:
        MissingFactError: The source hides it.
    """
    stated = job.get("train.report_to", None)
    return stated if isinstance(stated, list) else [stated]
