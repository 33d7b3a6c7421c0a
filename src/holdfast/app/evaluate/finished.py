"""What an evaluation has to tell of when its models have done their work."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.evaluation.benchmarks import BenchmarkGroup
from holdfast.adapters.evaluation.process import WorkFailure
from holdfast.app.evaluate.datasets import PreparedDataset
from holdfast.app.evaluate.working import ModelOutputs
from holdfast.core.evaluation import Example
from holdfast.engine.evaluate.figures import EvaluatedRows
from holdfast.results.evaluate import FailedDataset, LeakedDataset

PROMPT: Final = "--prompt"
"""The name of the single prompts among the datasets; no dataset has it."""


@dataclass(slots=True)
class FinishedWork:
    """What an evaluation has to tell of.

    Attributes:
        rows: The rows with what models gave, and the dataset that they are of.
        failed: The datasets that could not be evaluated.
        leaked: Rows that stand in the training data.
        model: What the model gave.
        base: What the base gave; None if there is none.
        prompts: The single prompts as rows.
        groups: The groups of benchmark tasks.
    """

    rows: list[tuple[PreparedDataset, EvaluatedRows]] = field(
        default_factory=list[tuple[PreparedDataset, EvaluatedRows]]
    )
    failed: list[FailedDataset] = field(default_factory=list[FailedDataset])
    leaked: list[LeakedDataset] = field(default_factory=list[LeakedDataset])
    model: ModelOutputs = field(default_factory=ModelOutputs)
    base: ModelOutputs | None = None
    prompts: Sequence[Example] = ()
    groups: Sequence[BenchmarkGroup] = ()

    def fail(self, dataset: str, failure: WorkFailure) -> None:
        """Note a dataset that failed; its first failure counts."""
        if all(each.dataset != dataset for each in self.failed):
            self.failed.append(
                FailedDataset(dataset=dataset, name=failure.name, because=failure.because, fix=failure.fix)
            )

    def failure_of(self, key: str) -> WorkFailure | None:
        """Return why a model has no outputs for a dataset, the model first; None if all models have them."""
        of_base = self.base.failed.get(key) if self.base else None
        return self.model.failed.get(key, of_base)
