"""The reference of DPO and KTO: whether it scores all rows before the training, and then needs no second model."""

from typing import Final

from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method

REFERENCED: Final = (Method.DPO, Method.KTO)
PRECOMPUTES: Final = "train.precompute_ref_log_probs"


def require_fixed_rows(job: Document, *, syncs: bool) -> None:
    """Object to a reference that scores all rows beforehand, if TRL refuses that.

    Source: trl 1.16 dpo_trainer.py and kto_trainer.py: ValueError with `sync_ref_model`, and with a dataset that is streamed.

    Args:
        job: The job.
        syncs: Whether it has the reference follow the model (`sync_ref_model`).

    Raises:
        MissingFactError: TRL refuses it.
    """
    loads = (call.arguments for call in job.calls if call.path == "datasets.load_dataset")
    streams = job.get("dataset.streaming", None) is True or any(each.get("streaming") is True for each in loads)
    if syncs or streams:
        because = "`sync_ref_model` changes the reference" if syncs else "the dataset is streamed"
        raise MissingFactError(PRECOMPUTES, f"TRL refuses it, for {because}")


def is_given_reference(job: Document) -> bool:
    """Whether a script passes a reference model to its trainer, which is then kept in any case."""
    return job.get("trainer.ref_model", None) is not None
