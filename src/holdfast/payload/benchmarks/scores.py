"""The values of a task's metrics: of each row, if the metric is a mean over rows; else of resamples of the rows."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from lm_eval.api import metrics as known

from ..calls import RaisedCall, attempt

SEED = 20_261_127
RESAMPLES = 400
"""Of a metric that is no mean: for each, lm-eval aggregates the rows anew."""
SLOWEST_S = 0.25
"""A metric that takes longer gets no interval: all resamples would take minutes."""
CLOSE = 1e-9
LN_2 = math.log(2)


def score_metrics(
    task: Any, samples: list[dict[str, Any]], result: dict[str, Any], higher: dict[str, bool]
) -> list[dict[str, Any]]:
    """Return each metric with lm-eval's value, and what its interval can be computed from.

    Args:
        task: The task.
        samples: What lm-eval wrote down of each row and filter.
        result: Its aggregated values.
        higher: Whether more is better, by metric.
    """
    found = []
    for key, value in result.items():
        name, comma, chosen = key.partition(",")
        if not comma or name.endswith("_stderr"):
            continue
        rows = [each for each in samples if each["filter"] == chosen]
        items = [each.get(name) for each in rows]
        aggregate = task.aggregation().get(name, known.mean)
        found.append(
            {
                "name": name if chosen == "none" else key,
                "key": key,
                "value": float(value),
                "lower_is_better": higher.get(name) is False,
                **measure(aggregate, items, float(value)),
            }
        )
    return found


def measure(aggregate: Callable[[Any], Any], items: list[Any], value: float) -> dict[str, Any]:
    """Return the measures of rows whose sums give the value; else values of resamples.

    Args:
        aggregate: lm-eval's function from the rows' items to the value.
        items: Of each row; None where it has none.
        value: What that function gave for all of them.
    """
    form, measures = _measures(aggregate, items)
    if measures is not None:
        total = np.array(measures).sum(axis=0)
        combined = total[0] / total[1] if total[1] else math.nan
        combined = math.exp(combined) if form == "exp of mean" else combined
        if math.isclose(combined, value, rel_tol=CLOSE, abs_tol=CLOSE):
            return {"form": form, "measures": measures, "resampled": []}
    return {
        "form": "none",
        "measures": [],
        "resampled": _resample(aggregate, [each for each in items if each is not None]),
    }


def _measures(aggregate: Callable[[Any], Any], items: list[Any]) -> tuple[str, list[tuple[float, float]] | None]:
    """Return how rows combine, and the value and the weight of each; None if that is not known of the metric."""
    form, measure_item = next((found for function, found in FORMS.items() if function is aggregate), ("none", None))
    if measure_item is None:
        return "none", None
    measured = [(0.0, 0.0) if each is None else measure_item(each) for each in items]
    known = [each for each in measured if each is not None]
    return (form, known) if len(known) == len(items) else ("none", None)


def _mean_item(item: Any) -> tuple[float, float] | None:
    """Return the value and the weight of a row; None if it is not a number."""
    if not isinstance(item, bool | int | float | np.number | np.bool_):
        return None
    return (0.0, 0.0) if math.isnan(item) else (float(item), 1.0)


def _perplexity_item(item: Any) -> tuple[float, float]:
    return -float(item), 1.0


def _weighted_item(item: Any) -> tuple[float, float]:
    return -float(item[0]), float(item[1])


def _bits_item(item: Any) -> tuple[float, float]:
    return -float(item[0]) / LN_2, float(item[1])


FORMS: Mapping[Callable[[Any], Any], tuple[str, Callable[[Any], tuple[float, float] | None]]] = {
    known.mean: ("mean", _mean_item),
    known.nanmean: ("mean", _mean_item),
    known.perplexity: ("exp of mean", _perplexity_item),
    known.weighted_perplexity: ("exp of mean", _weighted_item),
    known.bits_per_byte: ("mean", _bits_item),
}
"""How the rows of lm-eval's metrics combine, and the value and the weight of a row."""


def _resample(aggregate: Callable[[Any], Any], items: list[Any]) -> list[float | None]:
    """Return the values of resamples of the rows, the same rows for each model; none if the metric is slow or raises."""
    draws, found = np.random.default_rng(SEED), list[float | None]()
    for _ in range(RESAMPLES):
        chosen, start = draws.integers(0, len(items), len(items)), monotonic()
        value = attempt(
            partial(_aggregated, aggregate, items, chosen)
        )  # which raises for a resample that lacks a label
        if isinstance(value, RaisedCall) or monotonic() - start > SLOWEST_S:
            return []
        found.append(value if math.isfinite(value) else None)
    return found


def _aggregated(aggregate: Callable[[Any], Any], items: list[Any], chosen: Any) -> float:
    return float(aggregate([items[at] for at in chosen]))


def describe_sample(task: Any, sample: dict[str, Any]) -> dict[str, Any]:
    """Return a row as people read it: what the model answered, and what is right."""
    answer, reference = sample["filtered_resps"][0], str(sample["target"])
    if task.OUTPUT_TYPE == "multiple_choice":
        answer, reference = _chosen_option(task, sample)
    return {
        "row": sample["doc_id"],
        "answer": answer if isinstance(answer, str) else "",
        "reference": reference,
    }


def _chosen_option(task: Any, sample: dict[str, Any]) -> tuple[str, str]:
    """Return the option that a model found the most likely, and the right one."""
    values, target = [each[0] for each in sample["filtered_resps"]], sample["target"]
    side = 0 if getattr(task, "multiple_input", 0) else 1
    options = [str(each[side]).strip() for each in sample["arguments"]]
    is_place = isinstance(target, int) and 0 <= target < len(options)
    return options[int(np.argmax(values))], options[target] if is_place else str(target)
