"""How good answers are beside their references, by every metric of answers: one value a row, or one of all rows.

A training script that measures answers takes this module along, so that its figures are those of `holdfast evaluate`.
"""

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
NUMBER: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|-?\.\d+")
FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
WORD: Final = re.compile(r"[^\W_]+")
CLOSE: Final = 1e-6
"""How far two equal numbers may be apart, as a share of the larger one."""
NO_JSON: Final = object()
DEEPEST: Final = 64
"""Levels of JSON that are read: Arrow has no more."""

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
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return NO_JSON
    return NO_JSON if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    """Whether a JSON value is nested deeper than is read."""
    level = [value]
    for _ in range(DEEPEST):
        nested = [each for each in level if isinstance(each, dict | list)]
        level = [part for each in nested for part in (each.values() if isinstance(each, dict) else each)]
    return any(isinstance(each, dict | list) for each in level)


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


def measure(metric: str, answers: Sequence[str], references: Sequence[str]) -> float:
    """Return the value of a metric over some answers, at least one.

    >>> measure("exact_match", ["4", "five"], ["4", "5"])
    0.5
    """
    if metric == "bleu":
        from sacrebleu.metrics.bleu import BLEU

        return float(BLEU(effective_order=True).corpus_score([*answers], [[*references]]).score)
    if metric == "macro_f1":
        return _macro_f1([*map(normalize, answers)], [*map(normalize, references)])
    score = SCORES[metric]()
    return sum(score(answer, reference) for answer, reference in zip(answers, references, strict=True)) / len(answers)


def _macro_f1(answers: Sequence[str], references: Sequence[str]) -> float:
    """Return the mean over the labels of the references of the F1 of each."""
    labels = sorted(set(references))
    right = Counter(answer for answer, reference in zip(answers, references, strict=True) if answer == reference)
    given, wanted = Counter(answers), Counter(references)
    return sum(2 * right[label] / (given[label] + wanted[label]) for label in labels) / len(labels)
