"""How many rows a mixture takes of each of its datasets: as the rendered script does it (`engine/templates/sampling.jinja`)."""

from collections.abc import Sequence


def split_number(number: int, weights: Sequence[float]) -> list[int]:
    """Return whole numbers in proportion to weights; their sum is the number.

    >>> split_number(10, [1, 1, 1])
    [4, 3, 3]
    """
    exact = [number * weight / sum(weights) for weight in weights]
    parts = [int(part) for part in exact]
    by_rest = sorted(range(len(parts)), key=lambda at: parts[at] - exact[at])  # the largest remainders first
    for at in by_rest[: number - sum(parts)]:
        parts[at] += 1
    return parts


def most_rows(rows: Sequence[int], weights: Sequence[float]) -> int:
    """Return the number of rows of the largest mixture that uses no row twice.

    >>> most_rows([30, 20], [1, 3])
    26
    """
    return min(int(count * sum(weights) / weight) for count, weight in zip(rows, weights, strict=True))
