"""What a model is evaluated on, and what it gave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

TaskName = Literal["answers", "choices", "classes", "preference", "likelihood", "prompts"]
"""What a dataset can be evaluated for: answers with a reference, a choice among several answers, labels, pairs of a better and
a worse answer, the likelihood of texts, or answers that functions alone judge."""
Turn = Mapping[str, Any]
Prompt = str | Sequence[Turn]
"""A text, or messages that go through the chat template."""
WorkKind = Literal["generate", "score", "classify"]
"""What a model does for a row: writes an answer, gives log-likelihoods, or gives the logits of its head."""


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
    """

    row: int
    prompt: Prompt = ""
    reference: str = ""
    scored: tuple[ScoredText, ...] = ()
    options: tuple[str, ...] = ()
    right: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])


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
    """

    row: int
    text: str = ""
    tokens: int = 0
    ended: bool = True
    cut: bool = False
    scores: tuple[tuple[float, int], ...] = ()
    logits: tuple[float, ...] = ()


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
