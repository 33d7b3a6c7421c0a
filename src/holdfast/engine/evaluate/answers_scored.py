"""How good an answer is beside its reference: one value for each metric of answers."""

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from holdfast.core.json_text import parse_json
from holdfast.engine.evaluate.arrays import FloatArray
from holdfast.engine.evaluate.combining import ORDERS, PER_LABEL

ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
NUMBER: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|-?\.\d+")
FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
WORD: Final = re.compile(r"[^\W_]+")
CLOSE: Final = 1e-6
"""How far two equal numbers may be apart, as a share of the larger one."""
NO_JSON: Final = object()

AnswerScore = Callable[[str, str], float]


def normalize(text: str) -> str:
    """Return a text as SQuAD compares it: lowercase, without punctuation and English articles, single spaces.

    What is an article and nothing else keeps it: it is the letter of a choice, or a label.

    >>> normalize("The  Eiffel Tower!"), normalize("A.")
    ('eiffel tower', 'a')
    """
    plain = _plain(text)
    return " ".join(ARTICLES.sub(" ", plain).split()) or plain


def _plain(text: str) -> str:
    """Return a text in lower case, without punctuation and repeated spaces."""
    return " ".join("".join(each for each in text.lower() if not _is_punctuation(each)).split())


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def last_number(text: str) -> float | None:
    """Return the last number of a text; None if there is none.

    >>> last_number("So 3 + 4 = 7.0, or $1,234.50."), last_number("seven")
    (1234.5, None)
    """
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def read_json(text: str) -> Any:
    """Return the JSON value of an answer, also within a code fence; NO_JSON where it is none."""
    fenced = FENCE.search(text)
    try:
        return parse_json(fenced[1] if fenced else text)
    except ValueError:
        return NO_JSON


def _exact(answer: str, reference: str) -> float:
    return float(answer.strip() == reference.strip())


def _normalized(answer: str, reference: str) -> float:
    """Compare normalized texts; those of punctuation alone as they are."""
    wanted = normalize(reference)
    return float(normalize(answer) == wanted) if wanted else _exact(answer, reference)


def _contains(answer: str, reference: str) -> float:
    wanted = normalize(reference)
    if not wanted:
        return float(reference.strip() in answer)
    answered = _plain(answer) if ARTICLES.fullmatch(wanted) else normalize(answer)
    return float(f" {wanted} " in f" {answered} ")


def _f1(answer: str, reference: str) -> float:
    answered, wanted = normalize(answer).split(), normalize(reference).split()
    if not answered or not wanted:
        return _normalized(answer, reference)
    shared = sum((Counter(answered) & Counter(wanted)).values())
    return 2 * shared / (len(answered) + len(wanted))


def _number(answer: str, reference: str) -> float:
    answered, wanted = last_number(answer), last_number(reference)
    return float(
        answered is not None and wanted is not None and abs(answered - wanted) <= CLOSE * max(1.0, abs(wanted))
    )


def _json_valid(answer: str, _reference: str) -> float:
    return float(read_json(answer) is not NO_JSON)


def _json_equal(answer: str, reference: str) -> float:
    answered, wanted = read_json(answer), read_json(reference)
    return float(answered is not NO_JSON and _spelled(answered) == _spelled(wanted))


def _spelled(value: Any) -> str:
    """Return a value as text, so that 1, 1.0 and true differ, and the order of keys does not matter."""
    return json.dumps(value, sort_keys=True, default=str)


class _Words:
    """The words of a text in any script, for ROUGE, whose own tokenizer knows ASCII alone."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words in lower case."""
        return WORD.findall(text.lower())


@cache
def _rouge(kind: str) -> AnswerScore:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([kind], tokenizer=_Words())
    return lambda answer, reference: float(scorer.score(reference, answer)[kind].fmeasure)


@cache
def _chrf() -> AnswerScore:
    from sacrebleu.metrics.chrf import CHRF

    scorer = CHRF()
    return lambda answer, reference: float(scorer.sentence_score(answer, [reference]).score)


SCORES: Final[Mapping[str, Callable[[], AnswerScore]]] = {
    "exact_match": lambda: _exact,
    "normalized_match": lambda: _normalized,
    "accuracy": lambda: _normalized,
    "contains": lambda: _contains,
    "f1": lambda: _f1,
    "number_match": lambda: _number,
    "json_valid": lambda: _json_valid,
    "json_equal": lambda: _json_equal,
    "rouge1": lambda: _rouge("rouge1"),
    "rougeL": lambda: _rouge("rougeL"),
    "chrf": _chrf,
}


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
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(effective_order=True)
    found = [scorer.sentence_score(answer, [text]) for answer, text in zip(answers, references, strict=True)]
    rows = [[*each.counts, *each.totals, each.sys_len, each.ref_len] for each in found]
    return np.array(rows, dtype=np.float64).reshape(-1, 2 * ORDERS + 2)
