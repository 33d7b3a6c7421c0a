"""The vocabulary of a model, and the token that fills up batches."""

from collections.abc import Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.job.document import Document


def vocabulary_size(config: Mapping[str, Any]) -> int | None:
    """Return the number of tokens that a model has an embedding for; None if its `config.json` does not say."""
    inner = config.get("text_config")
    size = (inner if isinstance(inner, Mapping) else config).get("vocab_size")
    return size if type(size) is int else None


def pads_batches(job: Document, api: Api) -> bool:
    """True if rows of different lengths come into one batch."""
    packed = any(job.get(f"train.{name}", default=False) for name in ("packing", "padding_free"))
    return not packed and setting(job, "per_device_train_batch_size", api) != 1
