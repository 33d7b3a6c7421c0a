"""What is known of a job that is to be planned."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import MissingFactError
from holdfast.core.check.strict_document import StrictDocument
from holdfast.core.job.document import Document, Set
from holdfast.core.plan.hardware import Hardware, PriceList
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.core.text.places import Place
from holdfast.engine.plan.allocator_setting import AllocatorSetting
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.reading import StepReader
from holdfast.engine.plan.step import Sharding, TrainingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What is known of a job that is to be planned.

    Attributes:
        job: The job.
        api: The versions that it gets.
        model: Its model.
        rows: Rows of its dataset; None if unknown.
        eval_split_rows: Rows of the split that it evaluates on; None if it names none, or they are unknown.
        lengths: How long the rows are that it trains on; None if they were not measured.
        unmeasured: Why not; empty if they were, or nothing was to be measured.
        named: The hardware that it names; None if it names none.
        unknown_hardware: Why the hardware that it names is not known; empty if it is.
        this: This machine; perhaps without a GPU.
        here: This machine, where the job names it as its backend; perhaps without a GPU.
        choices: Hardware to choose from.
        prices: What the flavors of Hugging Face Jobs cost.
        allocator: How torch's allocator is set.
        rehearsed: Its training as a rehearsal saw it; None if none passed, or not all was seen.
    """

    job: Document
    api: Api
    model: JobModel
    rows: int | None
    eval_split_rows: int | None = None
    lengths: RowLengths | None = None
    unmeasured: str = ""
    named: Hardware | None
    unknown_hardware: str = ""
    this: Hardware
    here: Hardware | None = None
    choices: Sequence[Hardware]
    prices: PriceList
    allocator: AllocatorSetting
    rehearsed: RehearsedTraining | None = None

    @property
    def placed(self) -> Hardware | None:
        """Where the job runs, if it says so."""
        return self.here or self.named

    @property
    def eval_rows(self) -> int | None:
        """Rows that are evaluated on: those of a split, or a part of the training data; None if unknown."""
        if self.rehearsed and self.rehearsed.eval_rows is not None:
            return self.rehearsed.eval_rows
        if self.eval_split_rows is not None:
            return self.eval_split_rows
        part, rows = self.job.get("dataset.eval_fraction", None), self.job.get("dataset.rows", None) or self.rows
        if not isinstance(part, int | float) or not isinstance(rows, int):
            return None
        return math.ceil(rows * part)

    @property
    def trained_rows(self) -> int | None:
        """Rows that are trained on; None if their number is not known."""
        rows = self.job.get("dataset.rows", None) or self.rows
        held = self.job.get("dataset.eval_fraction", None) or 0
        return round(rows * (1 - held)) if isinstance(rows, int) else None

    @property
    def rehearsed_settings(self) -> Mapping[str, Any]:
        """The arguments that a rehearsal saw the trainer get; empty if there was none."""
        return self.rehearsed.settings if self.rehearsed else {}

    def setting(self, name: str) -> Any:
        """Return an argument that the trainer gets: as a rehearsal saw it, or else as the job sets it.

        Raises:
            MissingFactError: The default is no plain value.
        """
        seen = self.rehearsed_settings
        return seen[name] if name in seen else setting(self.job, name, self.api)

    @property
    def in_bfloat16(self) -> bool:
        """Whether the job computes in bfloat16, as TRL's configs do by default."""
        return self.job.get("train.fp16", None) is not True

    def with_settings(self, settings: Mapping[str, bool | int | str]) -> "PlanQuestion":
        """Return the question of the job with other settings.

        Args:
            settings: Keys of a job file, with their values.
        """
        edits = [Set(key, value) for key, value in settings.items()]
        return replace(self, job=self.job.with_values(edits, Place(self.job.path))) if edits else self

    def read_step(self, sharding: Sharding) -> tuple[TrainingStep, list[str]]:
        """Return the step of the job, and what was taken for granted.

        Raises:
            MissingFactError: Something that memory depends on is not known, or the source hides it.
        """
        strict = StrictDocument.of(self.job)
        reader = StepReader(strict, self.api, self.model, sharding, self.eval_rows, self.lengths)
        step = reader.read()
        for key, hidden in strict.hidden_reads.items():
            raise MissingFactError(key, hidden.because)
        return step, reader.because
