"""Rows of an evaluation as people read them: samples, and the worst of them beside the base model's."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from holdfast.catalog.metrics import MAIN, METRICS, Metric, own_metric
from holdfast.core.evaluation import Example, ModelOutput, Prompt
from holdfast.engine.evaluate.figures import EvaluatedRows, MeasuredMetric, finite
from holdfast.engine.evaluate.measuring import chosen_label, row_scores
from holdfast.results.evaluate import WorstRow

WORST: Final = 5
"""Rows of a dataset that are shown."""


def samples_of(rows: EvaluatedRows) -> Iterator[Mapping[str, Any]]:
    """Yield each row with the answers."""
    given = {each.name: each.values_of_rows(each.model) for each in rows.given if isinstance(each, MeasuredMetric)}
    for at, (example, output) in enumerate(zip(rows.examples, rows.outputs, strict=True)):
        sample: dict[str, Any] = {"row": example.row, "prompt": example.prompt, "reference": example.reference}
        sample |= _given(example, output, "")
        if rows.base is not None:
            sample |= _given(example, rows.base[at], "base_")
        sample |= {name: values[at] for name, values in rows.own.items()}
        yield sample | {name: finite(values[at]) for name, values in given.items()}


def _given(example: Example, output: ModelOutput, prefix: str) -> dict[str, Any]:
    """Return what a model gave for a row: its answer, or the scores of the texts."""
    given: dict[str, Any] = {"answer": _answer(example, output)}
    if output.responses:
        given["responses"] = output.responses
    elif output.scores:
        given["scores"] = [{"log_likelihood": score, "tokens": tokens} for score, tokens in output.scores]
    elif output.logits:
        given["logits"] = output.logits
    else:
        given |= {"tokens": output.tokens, "ended": output.ended}
    return {f"{prefix}{name}": value for name, value in given.items()}


def _answer(example: Example, output: ModelOutput) -> str:
    return chosen_label(example, output) if example.options else output.text


def worst_rows(rows: EvaluatedRows) -> list[WorstRow]:
    """Return the worst rows by the main metric; beside a base model, those that it answers better come first.

    A row whose value is the best that there is, is none of them.
    """
    ranked = _ranked(rows)
    if ranked is None:
        return []
    metric, values, base = ranked
    sign = -1.0 if metric.lower_is_better else 1.0
    known = [at for at, value in enumerate(values) if math.isfinite(value) and value != metric.span]
    known.sort(key=lambda at: _rank(sign * values[at], sign * base[at]))
    return [_worst(rows, at, metric.name, values[at], base[at]) for at in known[:WORST]]


def _rank(value: float, base: float) -> tuple[float, float]:
    """Return the loss against the base model, and the value; the worse, the lower."""
    return 0.0 if math.isnan(base) else value - base, value


def _ranked(rows: EvaluatedRows) -> tuple[Metric, Sequence[float], Sequence[float]] | None:
    """Return the metric that ranks rows, and its values for the model and the base, NaN without one; None if there is no such metric."""
    unknown = [math.nan] * len(rows.examples)
    measured = next((each for each in rows.given if isinstance(each, MeasuredMetric)), None)
    if measured is not None:
        base = unknown if measured.base is None else measured.values_of_rows(measured.base)
        return measured.metric, measured.values_of_rows(measured.model), base
    if rows.given:
        return None  # no metric has a value for each row
    base = unknown if rows.base is None else _main(rows, rows.base, rows.base_own)[1]
    return *_main(rows, rows.outputs, rows.own), base


def _main(
    rows: EvaluatedRows, outputs: Sequence[ModelOutput], own: Mapping[str, Sequence[float | None]]
) -> tuple[Metric, list[float]]:
    """Return the metric by which rows are the worst, and their values: the first that was requested, if there is only one a row."""
    means = [name for name in rows.metrics if METRICS[name].combination == "mean"]
    if not rows.metrics and own:
        name, values = next(iter(own.items()))
        return own_metric(name, ""), [math.nan if value is None else value for value in values]
    name = MAIN[rows.task] if MAIN[rows.task] in rows.metrics or not means else means[0]
    return METRICS[name], row_scores(rows.task, name, rows.examples, outputs)


def _worst(rows: EvaluatedRows, at: int, metric: str, value: float, base: float) -> WorstRow:
    example = rows.examples[at]
    return WorstRow(
        dataset=rows.dataset,
        row=example.row,
        metric=metric,
        value=value,
        base_value=finite(base),
        prompt=last_text(example.prompt),
        reference=example.reference,
        answer=_answer(example, rows.outputs[at]) or _scored(example),
        base_answer="" if rows.base is None else _answer(example, rows.base[at]),
    )


def last_text(prompt: Prompt) -> str:
    """Return the text of a prompt; of messages, that of the last one.

    >>> last_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}])
    '2 + 2?'
    """
    if isinstance(prompt, str):
        return prompt
    content = prompt[-1].get("content") if prompt else ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _scored(example: Example) -> str:
    """Return the text whose likelihood was requested, of rows in which the model writes none."""
    return last_text(example.scored[-1].answer) if example.scored else ""
