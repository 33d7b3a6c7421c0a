"""The measures of answers beside their references, for each metric of answers."""

from collections.abc import Sequence

import numpy as np

from holdfast.catalog.builtin.answer_scores import SCORES, normalize
from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.engine.evaluate.combining import ORDERS, PER_LABEL


def measure_answers(metric: str, answers: Sequence[str], references: Sequence[str]) -> FloatArray:
    """Return the measures of answers: float64, (rows, parts).

    >>> measure_answers("exact_match", ["4", "five"], ["4", "5"]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    if metric == "bleu":
        return _bleu_counts(answers, references)
    if metric == "macro_f1":
        labels = sorted({normalize(each) for each in references})
        return count_labels([normalize(each) for each in answers], [normalize(each) for each in references], labels)
    score = SCORES[metric]()
    return weigh([score(answer, reference) for answer, reference in zip(answers, references, strict=True)])


def weigh(values: Sequence[float | None]) -> FloatArray:
    """Return values as the measures of a mean; a row without a value has no weight."""
    return np.array([(value, 1.0) if value is not None else (0.0, 0.0) for value in values]).reshape(-1, 2)


def count_labels(given: Sequence[str], right: Sequence[str], labels: Sequence[str]) -> FloatArray:
    """Return for each row and label whether it was right, falsely given, or missed; an answer that is no label is only missed."""
    numbers = {label: number for number, label in enumerate(labels)}
    counts = np.zeros((len(right), len(labels), PER_LABEL))
    for row, (answered, wanted) in enumerate(zip(given, right, strict=True)):
        if answered == wanted:
            counts[row, numbers[wanted], 0] = 1
            continue
        counts[row, numbers[wanted], 2] = 1
        if answered in numbers:
            counts[row, numbers[answered], 1] = 1
    return counts.reshape(len(right), -1)


def _bleu_counts(answers: Sequence[str], references: Sequence[str]) -> FloatArray:
    from sacrebleu.metrics.bleu import BLEU  # slow, and only BLEU needs it

    scorer = BLEU(effective_order=True)
    found = [scorer.sentence_score(answer, [text]) for answer, text in zip(answers, references, strict=True)]
    rows = [[*each.counts, *each.totals, each.sys_len, each.ref_len] for each in found]
    return np.array(rows, dtype=np.float64).reshape(-1, 2 * ORDERS + 2)
