"""The values of a task's metrics: of each row, if the metric is a mean over rows; else of resamples of the rows."""

import math
from collections.abc import Callable
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
    if aggregate in (known.mean, known.nanmean) and all(each is None or _is_number(each) for each in items):
        return "mean", [(0.0, 0.0) if each is None or math.isnan(each) else (float(each), 1.0) for each in items]
    if aggregate is known.perplexity:
        return "exp of mean", [(0.0, 0.0) if each is None else (-float(each), 1.0) for each in items]
    if aggregate in (known.weighted_perplexity, known.bits_per_byte):
        unit = LN_2 if aggregate is known.bits_per_byte else 1.0
        pairs = [(0.0, 0.0) if each is None else (-float(each[0]) / unit, float(each[1])) for each in items]
        return "mean" if aggregate is known.bits_per_byte else "exp of mean", pairs
    return "none", None


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_)


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
    arguments, target = sample["arguments"], sample["target"]
    answer, reference = sample["filtered_resps"][0], str(target)
    if task.OUTPUT_TYPE == "multiple_choice":
        values = [each[0] for each in sample["filtered_resps"]]
        side = 0 if getattr(task, "multiple_input", 0) else 1
        options = [str(each[side]).strip() for each in arguments]
        answer = options[int(np.argmax(values))]
        reference = options[target] if isinstance(target, int) and 0 <= target < len(options) else reference
    return {
        "row": sample["doc_id"],
        "answer": answer if isinstance(answer, str) else "",
        "reference": reference,
    }
