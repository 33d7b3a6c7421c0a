"""The model of a job: its sizes, and what of its files decides memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.engine.plan.architecture import Architecture


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModel:
    """The model of a job.

    Attributes:
        architecture: Its sizes.
        type: Its `model_type`.
        dtype: Bytes of a weight as `dtype: auto` loads it; 0 if unknown.
        config: `config.json`, as far as it is known.
    """

    architecture: Architecture
    type: str
    dtype: int = 0
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
