"""Answers are compared with references as the field does."""

import numpy as np
import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from holdfast.catalog.builtin.answer_scores import measure
from holdfast.catalog.metrics import METRICS, OF_ANSWERS
from holdfast.engine.evaluate.answers_scored import measure_answers
from holdfast.engine.evaluate.combining import combine

CASES = [
    ("exact_match", " Paris\n", "Paris", 1),
    ("exact_match", "paris", "Paris", 0),
    ("normalized_match", "The  Paris!", "paris", 1),
    ("normalized_match", "¿Qué?", "qué", 1),
    ("normalized_match", "!!", "??", 0),
    ("normalized_match", "", "", 1),
    ("contains", "It is Paris, of course.", "paris", 1),
    ("contains", "Parisian", "paris", 0),
    ("contains", "a + b", "+", 1),
    ("f1", "big red dog", "red dog", 0.8),
    ("f1", "", "", 1),
    ("f1", "", "dog", 0),
    ("f1", "?", "dog", 0),
    ("number_match", "So it is 1,234.50.", "answer #### 1234.5", 1),
    ("number_match", "7 or 8", "7", 0),
    ("number_match", "seven", "7", 0),
    ("number_match", "-3", "3", 0),
    ("number_match", "7", "seven", 0),
    ("json_valid", '```json\n{"a": 1}\n```', "{}", 1),
    ("json_valid", "{a: 1}", "{}", 0),
    ("json_equal", '{"b": [1], "a": 2}', '{"a": 2, "b": [1]}', 1),
    ("json_equal", "1", "true", 0),
    ("json_equal", "nothing", "nothing", 0),
    ("accuracy", "Yes.", "yes", 1),
    ("accuracy", "A.", "A", 1),
    ("accuracy", "", "A", 0),
    ("normalized_match", "the", "A", 0),
    ("contains", "It is (A).", "A", 1),
    ("contains", "It is B.", "A", 0),
    ("f1", "", "A", 0),
]


@pytest.mark.parametrize(("metric", "answer", "reference", "expected"), CASES)
def test_an_answer_has_the_score_that_its_metric_says(
    metric: str, answer: str, reference: str, expected: float
) -> None:
    ((value, weight),) = measure_answers(metric, [answer], [reference]).tolist()

    assert (value, weight) == (pytest.approx(expected), 1)


ANSWERS = ["the cat sat on the mat", "a dog barked loudly at night", "", "birds"]
REFERENCES = ["the cat sat on a mat today", "the dog barked at night", "nothing here", "birds fly"]


def test_bleu_is_that_of_sacrebleu() -> None:
    """Of the whole dataset: rows' counts add up."""
    measures = measure_answers("bleu", ANSWERS, REFERENCES)

    expected = sacrebleu.corpus_bleu(ANSWERS, [REFERENCES]).score
    assert combine("bleu", measures.sum(axis=0, keepdims=True))[0] == pytest.approx(expected)


def test_bleu_of_resamples_is_that_of_sacrebleu() -> None:
    """For every way in which counts can be small, and lengths differ."""
    random = np.random.default_rng(2)
    total = random.integers(0, 9, (300, 4))
    right = random.integers(0, total + 1)
    counts = np.column_stack([right, total, random.integers(0, 12, (300, 2))])
    expected = [
        BLEU.compute_bleu(row[:4].tolist(), row[4:8].tolist(), int(row[8]), int(row[9]), smooth_method="exp").score
        for row in counts
    ]

    assert combine("bleu", counts.astype(float)).tolist() == pytest.approx(expected)


def test_rouge_is_that_of_rouge_score_and_knows_other_scripts() -> None:
    """Its own tokenizer drops every letter that is not ASCII."""
    scorer = RougeScorer(["rougeL"])
    expected = [scorer.score(wanted, said)["rougeL"].fmeasure for said, wanted in zip(ANSWERS, REFERENCES, strict=True)]

    assert measure_answers("rougeL", ANSWERS, REFERENCES)[:, 0].tolist() == pytest.approx(expected)
    assert measure_answers("rouge1", ["доброе утро"], ["доброе утро"])[0, 0] == 1


def test_an_answer_that_is_no_label_is_only_wrong() -> None:
    """It has no column in the counts of labels."""
    measures = measure_answers("macro_f1", ["yes", "perhaps", "no", "no"], ["yes", "yes", "no", "no"])

    assert combine("macro f1", measures.sum(axis=0, keepdims=True))[0] == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize("metric", OF_ANSWERS)
def test_a_script_measures_answers_as_evaluate_does(metric: str) -> None:
    """The value over all rows, which a training script computes by itself."""
    answers = [*ANSWERS, "7", '{"a": 1}', "birds", "[" * 65 + "]" * 65]
    references = [*REFERENCES, "7.0", '{"a": 1}', "Birds", "[]"]
    sums = measure_answers(metric, answers, references).sum(axis=0, keepdims=True)

    assert measure(metric, answers, references) == pytest.approx(combine(METRICS[metric].combination, sums)[0])
    assert measure(metric, [""], ["birds"]) == 0
