"""What is known of a mixture of datasets, from what is known of each."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.catalog.data.mixing import most_rows
from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset
from holdfast.core.job_data import Data, MixedData


def mixture_facts(data: Data, first: Dataset, find: Callable[[int, Data], Dataset]) -> Dataset:
    """Return the facts about the rows of a mixture.

    Args:
        data: The mixture.
        first: What is known of its first dataset.
        find: Returns what is known of another one, given its position in `mix`; raises SourceError if nothing is.
    """
    parts = (first, *_others(data, find))
    counts = [part.rows if part else None for part in parts]
    known = [count for count in counts if count is not None]
    weights = [data.weight or 1.0, *(each.weight for each in data.mix)]
    whole = most_rows(known, weights) if len(known) == len(counts) else None
    return replace(first, rows=whole, parts=parts)


def _others(data: Data, find: Callable[[int, Data], Dataset]) -> Iterator[Dataset | None]:
    for at, each in enumerate(data.mix):
        try:
            yield find(at, _alone(each))
        except SourceError:
            yield None


def _alone(each: MixedData) -> Data:
    return Data(path=each.path, config=each.config, split=each.split)
