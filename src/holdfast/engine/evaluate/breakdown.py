"""The groups into which the rows of a dataset are broken down: by a column, by label, by length."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from holdfast.core.evaluation import Example, Prompt

LENGTH: Final = "length"
LABEL: Final = "label"
QUARTERS: Final = (0.25, 0.5, 0.75)
MOST_VALUES: Final = 20
"""A column of numbers with more values is broken down by quarters; of another the most frequent values have a group each."""
OTHERS: Final = "(others)"


def can_group(by: str, examples: Sequence[Example]) -> bool:
    """True if rows can be broken down by a column, by `length`, or by `label`, if they have labels."""
    return (
        by == LENGTH
        or any(by in each.columns for each in examples)
        or (by == LABEL and any(each.reference for each in examples))
    )


def groups_of(by: str, examples: Sequence[Example]) -> list[str]:
    """Return the group of each row.

    Args:
        by: A column, `label` or `length`; a column of such a name comes first.
        examples: The rows.
    """
    if any(by in each.columns for each in examples):
        return _by_values([each.columns.get(by) for each in examples])
    if by == LABEL:
        return _by_values([each.reference for each in examples])
    return _by_quarters([float(length_of(each)) for each in examples], " characters")


def length_of(example: Example) -> int:
    """Return the length of what the model reads, in characters."""
    return _length(example.prompt) or sum(_length(each.answer) for each in example.scored)


def _length(prompt: Prompt) -> int:
    return len(prompt) if isinstance(prompt, str) else sum(len(str(turn.get("content") or "")) for turn in prompt)


def _by_values(values: Sequence[Any]) -> list[str]:
    counts = Counter(map(str, values))
    if len(counts) <= MOST_VALUES:
        return list(map(str, values))
    if all(isinstance(value, int | float) for value in values):
        return _by_quarters([float(value) for value in values], "")
    frequent: Mapping[str, int] = dict(counts.most_common(MOST_VALUES))
    return [str(value) if str(value) in frequent else OTHERS for value in values]


def _by_quarters(values: Sequence[float], unit: str) -> list[str]:
    """Return for each value the quarter of all values that it is in.

    >>> _by_quarters([1, 2, 3, 4], "")
    ['1 to 1.75', '1.75 to 2.5', '2.5 to 3.25', '3.25 to 4']
    """
    bounds = sorted({min(values), *map(float, np.quantile(values, QUARTERS)), max(values)})
    if len(bounds) == 1:
        return [f"{bounds[0]:g}{unit}"] * len(values)
    places = np.clip(np.searchsorted(bounds, values, side="left") - 1, 0, len(bounds) - 2)
    return [f"{bounds[at]:g} to {bounds[at + 1]:g}{unit}" for at in places]
