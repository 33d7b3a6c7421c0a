"""Numbers of rows in the data that they were taken from, in place of those in a shuffled part of it."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from holdfast.core.rows.scan import RowCount, Scan, Tokens


def renumber_scan(scan: Scan, numbers: Sequence[int]) -> Scan:
    """Return a scan whose damaged rows have other numbers.

    Args:
        scan: What was found in the rows.
        numbers: The number of each row in the data that it was taken from; empty if the rows have theirs.
    """
    return replace(scan, marked=tuple(replace(each, rows=_renumber(each.rows, numbers)) for each in scan.marked))


def renumber_tokens(tokens: Tokens, numbers: Sequence[int]) -> Tokens:
    """Return what a tokenizer made of rows, with other numbers of rows; see `renumber_scan`."""
    changed: dict[str, Any] = {
        name: replace(count, rows=_renumber(count.rows, numbers))
        for name in (each.name for each in fields(tokens))
        if isinstance(count := getattr(tokens, name), RowCount)
    }
    problems = {number: why for row, why in tokens.problems.items() for number in _renumber([row], numbers)}
    return replace(tokens, **changed, problems=problems)


def _renumber(rows: Sequence[int], numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of some rows, in rising order; those without a number are left out.

    >>> _renumber([0, 2], [17, 3, 5]), _renumber([0, 2], []), _renumber([0, 2], [17, 3])
    ((5, 17), (0, 2), (17,))
    """
    return tuple(sorted(numbers[row] for row in rows if row < len(numbers)) if numbers else sorted(rows))
