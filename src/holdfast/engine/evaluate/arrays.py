"""The arrays that figures are computed from."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
"""Sums or measures: float64, (rows, parts), unless a function says otherwise."""
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def sum_clusters(measures: FloatArray, clusters: IntArray | None) -> FloatArray:
    """Return the measures summed by cluster: float64, (clusters, parts); as they are where each row is its own.

    >>> sum_clusters(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])).tolist()
    [[5.0], [2.0]]
    """
    if clusters is None:
        return measures
    sums = np.zeros((int(clusters.max()) + 1, measures.shape[1]))
    np.add.at(sums, clusters, measures)
    return sums


def number_clusters(names: list[str]) -> IntArray | None:
    """Return the number of each row's cluster; None if no two rows share one.

    >>> number_clusters(["a", "b", "a"])
    array([0, 1, 0])
    >>> number_clusters(["a", "b"])
    """
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(name, len(numbers)) for name in names]
    return None if len(numbers) == len(found) else np.array(found, dtype=np.int64)
