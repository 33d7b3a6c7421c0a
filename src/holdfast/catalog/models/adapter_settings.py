"""The settings of the LoRA adapter that a job trains."""

from collections.abc import Mapping
from typing import Any

from holdfast.catalog.models.base_models import adapts, lora
from holdfast.core.job.document import Document


def adapter_settings(job: Document) -> Mapping[str, Any] | None:
    """Return the settings by peft's names; None if a job trains no adapter, or one of another kind.

    Raises:
        MissingFactError: The source hides whether there is one.
    """
    return lora(job) if adapts(job) else None


def adapter_targets(job: Document) -> Any:
    """Return `target_modules` of the adapter; None if it is not set, or if there is no such adapter.

    Raises:
        MissingFactError: The source hides whether there is one.
    """
    return (adapter_settings(job) or {}).get("target_modules")
