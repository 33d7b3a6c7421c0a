"""What a rehearsal records of a training at its full size: counts, and nothing of the twin's speed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.rows.row_lengths import RowLengths


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedTraining:
    """The one training of a job, as its script requested it from the trainer.

    Attributes:
        settings: The trainer's arguments that decide how often it steps, evaluates and saves, with the library's defaults.
        units: What an epoch goes over on one process: rows, prompts or packs; None if they were not counted.
        eval_rows: Rows of an evaluation; None if there is none, or they were not counted.
        lengths: How long the rows are that it trains on; None if they were not measured.
        made_s: When the rehearsal ended, in seconds of the clock.
    """

    settings: Mapping[str, Any]
    units: int | None = None
    eval_rows: int | None = None
    lengths: RowLengths | None = None
    made_s: float = 0.0
