"""Rows of datasets that stand in the data that the model was trained on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from holdfast.adapters.evaluation.process import WorkFailure
from holdfast.app.evaluate.asking import EvaluationRequest
from holdfast.app.evaluate.data import RowChoice, iterate_rows, read_data
from holdfast.app.evaluate.datasets import PreparedDataset
from holdfast.app.inspect.rows import RowSource
from holdfast.core.errors import HoldfastError
from holdfast.engine.evaluate.figures import EvaluatedRows, figures_of
from holdfast.engine.evaluate.leakage import find_leaked
from holdfast.results.evaluate import LeakedDataset

TRAIN: Final = "train"
NAMED: Final = 20
"""Rows that are named."""


def find_leaks(
    request: EvaluationRequest,
    evaluated: Sequence[tuple[PreparedDataset, EvaluatedRows]],
    leaked: list[LeakedDataset],
    fail: Callable[[str, WorkFailure], None],
) -> None:
    """Add the rows that stand in the training data, and the figures without them, if it is known and can be read."""
    for dataset, rows in evaluated if request.training else ():
        if any(each.images for each in dataset.examples):
            continue  # two rows with the same words may show different images
        try:
            training = chain.from_iterable(_rows(name, source) for name, source in request.training)
            found = find_leaked(dataset.examples, training)
        except HoldfastError as error:
            fail(request.training[0][0], WorkFailure("", f"the training data: {error.what}", error.fix))
            return
        numbers = frozenset((*found.exact, *found.near))
        without = figures_of(rows, leaving_out=numbers) if numbers else []
        leaked.append(
            LeakedDataset(
                dataset=dataset.name,
                rows=len(numbers),
                fraction=len(numbers) / len(dataset.examples),
                exact=found.exact[:NAMED],
                near=found.near[:NAMED],
                without=without,
            )
        )


def _rows(name: str, source: RowSource | None) -> Iterator[Mapping[str, Any]]:
    if source is None:
        yield from read_data(name, None, RowChoice(split=TRAIN)).rows.values()
    else:
        for _, row in iterate_rows(source.open(TRAIN)):
            yield row
