"""Quantiles and a histogram of lengths."""

from collections.abc import Sequence

from holdfast.core.rows.scan import Lengths

FIRST_BOUND = 16
"""Upper bound of the histogram's first bar, in tokens; each further one is twice as wide."""


def count_lengths(lengths: Sequence[int]) -> Lengths:
    """Return the statistics of row lengths.

    Args:
        lengths: Tokens of each row, in any order.

    >>> count_lengths([3, 5, 40])
    Lengths(p50=5, p95=40, max=40, mean=16.0, histogram=((16, 2), (32, 0), (64, 1)), p99=40)
    """
    ordered = sorted(lengths)
    if not ordered:
        return Lengths(p50=0, p95=0, p99=0, max=0, mean=0.0)
    return Lengths(
        p50=_quantile(ordered, 50),
        p95=_quantile(ordered, 95),
        p99=_quantile(ordered, 99),
        max=ordered[-1],
        mean=sum(ordered) / len(ordered),
        histogram=_histogram(ordered),
    )


def _quantile(ordered: Sequence[int], percent: int) -> int:
    """Return the least length that so many percent do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _histogram(ordered: Sequence[int]) -> tuple[tuple[int, int], ...]:
    bounds = [FIRST_BOUND]
    while bounds[-1] < ordered[-1]:
        bounds.append(bounds[-1] * 2)
    counts = dict.fromkeys(bounds, 0)
    at = 0
    for length in ordered:
        while length > bounds[at]:
            at += 1
        counts[bounds[at]] += 1
    return tuple(counts.items())
