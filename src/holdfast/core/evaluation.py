"""What a model is evaluated on, and what it gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

TaskName = Literal["answers", "choices", "classes", "preference", "likelihood", "prompts", "benchmark"]
"""What a dataset can be evaluated for: answers with a reference, a choice among several answers, labels, pairs of a better and
a worse answer, the likelihood of texts, answers that functions alone judge, or what a benchmark task of lm-eval makes of it."""
Turn = Mapping[str, Any]
Prompt = str | Sequence[Turn]
"""A text, or messages that go through the chat template."""
WorkKind = Literal["generate", "score", "classify", "respond"]
"""What a model does for a row: writes an answer, gives log-likelihoods, gives the logits of its head, or responds to lm-eval's
requests."""

TASK_FILES: Final = (".yaml", ".yml")


def is_task_path(task: str) -> bool:
    """True if a benchmark task is named by its file or folder; a plain name is one of lm-eval's registry.

    >>> is_task_path("tasks/sums.yaml"), is_task_path("sums.yaml"), is_task_path("./tasks"), is_task_path("arc_easy")
    (True, True, True, False)
    """
    return task.startswith((".", "~")) or "/" in task or task.endswith(TASK_FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """An encoded image: in a file, or as its bytes.

    Attributes:
        path: The file; empty if the bytes are given.
        digest: Of the file's content, in hexadecimal: outputs are kept by it.
        base64: The bytes; empty if the file is given.
    """

    path: str = ""
    digest: str = ""
    base64: str = ""


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A text whose likelihood is requested.

    Attributes:
        prompt: What stands before it; may be empty.
        answer: The text, or the messages.
    """

    prompt: Prompt
    answer: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessCall:
    """A request of lm-eval to a model.

    Attributes:
        type: The method of lm-eval's model class that answers it: `loglikelihood`, `loglikelihood_rolling` or `generate_until`.
        args: Its arguments: texts, and the settings of a generation.
        repeats: How often it is answered.
    """

    type: str
    args: Sequence[Any]
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessMetric:
    """A metric of a benchmark task, with lm-eval's value.

    Attributes:
        name: The metric, with its filter if it has one.
        key: Metric and filter, as lm-eval names them.
        value: The value.
        lower_is_better: Whether a lower value is better.
        form: How the measures of rows become the value; `none` if it is not a function of sums.
        measures: Of each row, its value and weight.
        resampled: Values of resamples of the rows, where `form` is `none`; None where one is not finite.
    """

    name: str
    key: str
    value: float
    lower_is_better: bool
    form: str
    measures: Sequence[tuple[float, float]]
    resampled: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A row of a dataset, as it is evaluated.

    Attributes:
        row: Its number in the split, counted from 0.
        prompt: What the model is to answer.
        reference: The right answer or label; empty if there is none.
        scored: The texts whose likelihood is requested: choices, or the chosen answer and the rejected one, or turns.
        options: The names of the choices.
        right: Which of them is right.
        columns: The row's own columns.
        calls: Of a benchmark task, what lm-eval requests of the model.
        own_text: Of a benchmark task, what the row itself adds to its prompt: without examples and chat template.
        images: The images of the prompt, in their order.
    """

    row: int
    prompt: Prompt = ""
    reference: str = ""
    scored: tuple[ScoredText, ...] = ()
    options: tuple[str, ...] = ()
    right: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])
    calls: tuple[HarnessCall, ...] = ()
    own_text: str = ""
    images: tuple[ImageSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutput:
    """What the model gave for a row.

    Attributes:
        row: The row's number.
        text: The answer that it wrote.
        tokens: How many tokens that has.
        ended: Whether the model ended it, and not the limit of tokens.
        cut: Whether the prompt was too long, and lost its beginning.
        scores: Of each text, its log-likelihood and its number of tokens; of a head with one output, that and 1.
        logits: Of a head with several outputs, all of them.
        responses: Of a benchmark task, the responses to each request: a text, a log-likelihood, or that and whether the model
            would have written the text.
    """

    row: int
    text: str = ""
    tokens: int = 0
    ended: bool = True
    cut: bool = False
    scores: tuple[tuple[float, int], ...] = ()
    logits: tuple[float, ...] = ()
    responses: tuple[Sequence[Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """How answers are generated: the fields of transformers' `GenerationConfig` of these names.

    Attributes:
        max_new_tokens: The longest answer, in tokens.
        stop_strings: Texts that end an answer.
        temperature: Of sampling; 0 takes the likeliest token each time.
        top_p: The share of the likeliest tokens that is sampled from.
        top_k: The number of the likeliest tokens that is sampled from; 0 for all.
        seed: Of sampling; a row gets the same answer with the same seed, whatever is in its batch.
    """

    max_new_tokens: int = 256
    stop_strings: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
