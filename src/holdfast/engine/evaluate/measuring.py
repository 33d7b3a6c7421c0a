"""The measures of the rows of a dataset, from what the model gave for each."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Final

import numpy as np

from holdfast.catalog.builtin.answer_scores import last_number, normalize, read_json
from holdfast.catalog.metrics import EVERYWHERE, METRICS, are_labels
from holdfast.core.evaluation import Example, ModelOutput, TaskName
from holdfast.engine.evaluate.answers_scored import count_labels, measure_answers, weigh
from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.results.evaluate import ConfusionMatrix

TIE: Final = 0.5
Outputs = Sequence[ModelOutput]
Examples = Sequence[Example]


def default_metrics(task: TaskName, examples: Examples) -> tuple[str, ...]:
    """Return the metrics that a dataset gets where none are requested."""
    if task == "answers":
        return tuple(_metrics_of_answers([each.reference for each in examples]))
    return tuple(name for name, metric in METRICS.items() if task in metric.tasks)


def _metrics_of_answers(references: Sequence[str]) -> Iterator[str]:
    yield from EVERYWHERE
    if are_labels(references):
        yield from ("accuracy", "macro_f1")
    if all(last_number(each) is not None for each in references):
        yield "number_match"
    if all(isinstance(read_json(each), dict | list) for each in references):
        yield from ("json_valid", "json_equal")


def measure(metric: str, task: TaskName, examples: Examples, outputs: Outputs) -> FloatArray:
    """Return the measures of rows: float64, (rows, parts).

    Args:
        metric: One of those of the task.
        task: The task.
        examples: The rows.
        outputs: What the model gave for each, in the same order.
    """
    if task == "answers":
        return measure_answers(metric, [each.text for each in outputs], [each.reference for each in examples])
    if task == "likelihood":
        return np.array(list(map(_losses, outputs))).reshape(-1, 2)
    if metric == "macro_f1":
        return _measure_labels(examples, outputs)
    return weigh(list(starmap(_SCORES[metric], zip(examples, outputs, strict=True))))


def _measure_labels(examples: Examples, outputs: Outputs) -> FloatArray:
    labels = sorted({name for each in examples for name in each.options})
    return count_labels(_chosen_labels(examples, outputs), [each.reference for each in examples], labels)


def row_scores(task: TaskName, metric: str, examples: Examples, outputs: Outputs) -> list[float]:
    """Return the value of each row by itself, by which the worst rows are found."""
    measures = measure(metric, task, examples, outputs)
    weights = measures[:, 1]
    return [float(value) for value in np.where(weights > 0, measures[:, 0] / np.maximum(weights, 1), math.nan)]


def confusion_of(task: TaskName, examples: Examples, outputs: Outputs) -> ConfusionMatrix:
    """Return the confusion matrix of labels, by scikit-learn."""
    from sklearn.metrics import confusion_matrix  # slow, and only classification needs it

    right, given = _right_and_given(task, examples, outputs)
    labels = sorted(set(right))
    others = [] if set(given) <= set(labels) else [""]
    predicted = [each if each in labels else "" for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows that all have one label
        counts = confusion_matrix(right, predicted, labels=[*labels, *others])
    return ConfusionMatrix(labels=(*labels, *others), counts=tuple(tuple(map(int, row)) for row in counts))


def _right_and_given(task: TaskName, examples: Examples, outputs: Outputs) -> tuple[list[str], list[str]]:
    """Return the right label of each row, and the one that the model gave."""
    if task == "answers":
        return [normalize(each.reference) for each in examples], [normalize(each.text) for each in outputs]
    return [each.reference for each in examples], _chosen_labels(examples, outputs)


def _chosen_labels(examples: Examples, outputs: Outputs) -> list[str]:
    return list(starmap(chosen_label, zip(examples, outputs, strict=True)))


def chosen_label(example: Example, output: ModelOutput) -> str:
    """Return the choice that the model finds likeliest."""
    values = output.logits or tuple(score for score, _ in output.scores)
    return example.options[max(range(len(values)), key=values.__getitem__)]


def _losses(output: ModelOutput) -> tuple[float, float]:
    """Return the negative log-likelihood of all texts of a row, and their tokens."""
    return -sum(score for score, _ in output.scores), float(sum(tokens for _, tokens in output.scores))


def _is_right(example: Example, output: ModelOutput) -> float:
    return float(chosen_label(example, output) == example.reference)


def _is_right_by_length(example: Example, output: ModelOutput) -> float:
    scores = [score / max(1, len(text)) for (score, _), text in zip(output.scores, example.options, strict=True)]
    return float(max(range(len(scores)), key=scores.__getitem__) == example.right)


def _is_likeliest(example: Example, output: ModelOutput) -> float:
    scores = [score for score, _ in output.scores]
    return float(max(range(len(scores)), key=scores.__getitem__) == example.right)


def _margin(_: Example, output: ModelOutput) -> float:
    return output.scores[0][0] - output.scores[1][0]


def _prefers_chosen(example: Example, output: ModelOutput) -> float:
    margin = _margin(example, output)
    return TIE if margin == 0 else float(margin > 0)


_SCORES: Final[Mapping[str, Callable[[Example, ModelOutput], float]]] = {
    "acc": _is_likeliest,
    "acc_norm": _is_right_by_length,
    "accuracy": _is_right,
    "pairwise_accuracy": _prefers_chosen,
    "margin": _margin,
}
