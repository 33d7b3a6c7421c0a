"""How far estimates are from what was measured."""

from collections.abc import Iterable
from statistics import median


def print_errors(title: str, pairs: Iterable[tuple[float, float | None]]) -> None:
    """Print the median and the worst error of estimates, each beside what was measured; those without a measurement are left out."""
    errors = [estimate / measured - 1 for estimate, measured in pairs if measured]
    if errors:
        middle = median(abs(error) for error in errors)
        print(f"{title:44} n={len(errors):3}  median {middle:6.1%}  worst {min(errors):+7.1%} {max(errors):+7.1%}")
