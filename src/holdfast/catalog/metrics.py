"""The metrics: what each measures, of which rows, by whose definition."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.evaluation import TaskName
from holdfast.core.job.methods import Method

Combination = Literal["mean", "exp of mean", "bleu", "macro f1"]
"""How the measures of rows become one value."""
PERCENT: Final = 100.0
AT_LEAST: Final = re.compile(r"(?P<metric>[^=]+)=(?P<bound>-?\d+(?:\.\d*)?(?:e-?\d+)?|-?\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric.

    Attributes:
        name: Its name.
        definition: How it is computed, in words.
        tasks: What a dataset must be evaluated for.
        library: The package whose definition it is; empty if the definition says all.
        lower_is_better: Whether a lower value is better.
        span: The distance between the worst and the best value; None if there is no such bound.
        combination: How the rows' measures become one value.
    """

    name: str
    definition: str
    tasks: tuple[TaskName, ...]
    library: str = ""
    lower_is_better: bool = False
    span: float | None = 1.0
    combination: Combination = "mean"


ANSWERS: Final[tuple[TaskName, ...]] = ("answers",)
METRICS: Final[Mapping[str, Metric]] = {
    each.name: each
    for each in (
        Metric(
            name="exact_match",
            definition="the share of answers that equal their reference, without white space at both ends",
            tasks=ANSWERS,
        ),
        Metric(
            name="normalized_match",
            definition="the share that equal it without capitals, punctuation, English articles and repeated spaces",
            tasks=ANSWERS,
        ),
        Metric(
            name="contains",
            definition="the share of answers that have the normalized reference in them, in whole words",
            tasks=ANSWERS,
        ),
        Metric(
            name="f1",
            definition="the harmonic mean of precision and recall of the normalized words, as SQuAD has it; mean over rows",
            tasks=ANSWERS,
        ),
        Metric(
            name="rouge1",
            definition="ROUGE-1 F1 of lowercase words, not stemmed; mean over rows",
            tasks=ANSWERS,
            library="rouge-score",
        ),
        Metric(
            name="rougeL",
            definition="ROUGE-L F1 of lowercase words, not stemmed; mean over rows",
            tasks=ANSWERS,
            library="rouge-score",
        ),
        Metric(
            name="bleu",
            definition="BLEU of the whole dataset, `13a` tokens, `exp` smoothing; 0 to 100",
            tasks=ANSWERS,
            library="sacrebleu",
            span=PERCENT,
            combination="bleu",
        ),
        Metric(
            name="chrf",
            definition="chrF2 of each answer, 0 to 100; mean over rows",
            tasks=ANSWERS,
            library="sacrebleu",
            span=PERCENT,
        ),
        Metric(
            name="number_match",
            definition="the share of answers whose last number is that of the reference, to a millionth",
            tasks=ANSWERS,
        ),
        Metric(
            name="json_valid",
            definition="the share of answers that are JSON, also within a code fence",
            tasks=ANSWERS,
        ),
        Metric(
            name="json_equal",
            definition="the share of answers whose JSON has the value of the reference's",
            tasks=ANSWERS,
        ),
        Metric(
            name="acc",
            definition="the share of rows whose right choice has the highest log-likelihood",
            tasks=("choices",),
        ),
        Metric(
            name="acc_norm",
            definition="the same, with each log-likelihood divided by the choice's length in characters",
            tasks=("choices",),
        ),
        Metric(
            name="accuracy",
            definition="the share of rows with the right label; of answers, compared as normalized_match does",
            tasks=("classes", "answers"),
        ),
        Metric(
            name="macro_f1",
            definition="the mean over labels of the F1 of each, as scikit-learn has it",
            tasks=("classes", "answers"),
            library="scikit-learn",
            combination="macro f1",
        ),
        Metric(
            name="pairwise_accuracy",
            definition="the share of rows whose chosen answer scores higher than the rejected one; a tie counts as half",
            tasks=("preference",),
        ),
        Metric(
            name="margin",
            definition="the score of the chosen answer less that of the rejected one; mean over rows",
            tasks=("preference",),
            span=None,
        ),
        Metric(
            name="loss",
            definition="the negative log-likelihood of a token of the answers, in nats; mean over tokens",
            tasks=("likelihood",),
            lower_is_better=True,
            span=None,
        ),
        Metric(
            name="perplexity",
            definition="e to the power of the loss",
            tasks=("likelihood",),
            lower_is_better=True,
            span=None,
            combination="exp of mean",
        ),
    )
}
"""Every metric that has a name of its own."""
EVERYWHERE: Final = ("exact_match", "normalized_match", "contains", "f1", "rouge1", "rougeL", "bleu", "chrf")
"""Of answers, those that apply to any reference."""
MEASURED: Final = (Method.SFT, Method.DPO, Method.KTO)
"""Methods whose rows have right answers. GRPO and RLOO compute rewards at each evaluation, and a reward model writes no answers."""
EVALUATED: Final = "eval_"
"""What a trainer puts before the name of each metric of an evaluation."""
OF_ANSWERS: Final = tuple(name for name, metric in METRICS.items() if "answers" in metric.tasks)
"""All metrics of answers."""
MAIN: Final[Mapping[TaskName, str]] = {
    "answers": "f1",
    "choices": "acc",
    "classes": "accuracy",
    "preference": "pairwise_accuracy",
    "likelihood": "loss",
}
"""By which metric rows are the worst."""
MOST_LABELS: Final = 20
"""Answers of more different words are no labels."""
LONGEST_LABEL: Final = 40
"""In characters."""
ROWS_PER_LABEL: Final = 2


def own_metric(name: str, definition: str) -> Metric:
    """Return the metric of a user's own function, of which only the mean is known."""
    return Metric(name=name, definition=definition, tasks=("answers", "prompts"), span=None)


def are_labels(references: Sequence[str]) -> bool:
    """True if references are labels: few short ones that come up again and again.

    >>> are_labels(["yes", "no", "no", "yes"]), are_labels(["Paris", "Rome", "Oslo"])
    (True, False)
    """
    labels = set(references)
    if all(each.strip().lstrip("-").replace(".", "", 1).isdecimal() for each in labels):
        return False  # numbers: one may be nearly right
    few = 1 < len(labels) <= min(MOST_LABELS, len(references) / ROWS_PER_LABEL)
    return few and max(map(len, labels)) <= LONGEST_LABEL


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The condition that a metric is at least so high, or at most, if lower is better.

    Attributes:
        metric: The metric.
        bound: The bound.
    """

    metric: str
    bound: float

    def __str__(self) -> str:
        return f"--at-least {self.metric}={self.bound:g}"


def parse_at_least(text: str) -> AtLeast | None:
    """Return the condition that a text states; None if it states none.

    >>> parse_at_least("accuracy=0.6")
    AtLeast(metric='accuracy', bound=0.6)
    >>> parse_at_least("accuracy")
    """
    found = AT_LEAST.fullmatch(text.strip())
    return AtLeast(found["metric"].strip(), float(found["bound"])) if found else None
