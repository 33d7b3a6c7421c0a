"""What the process of an export answers, stage by stage. A figure is None if it is no number."""

from collections.abc import Mapping, Sequence

from msgspec import Struct


class StageAnswer(Struct, frozen=True, kw_only=True):
    """What every stage answers.

    Attributes:
        peak_bytes: The most memory that its process had.
    """

    peak_bytes: int = 0


class MergeAnswer(StageAnswer, frozen=True, kw_only=True):
    """What merging measured.

    Attributes:
        finite: Whether all logits are numbers.
        difference: The largest difference of a logit before and after.
        relative: The size of the difference, relative to how much the logits vary over the vocabulary.
        agreement: The share of positions with the same likeliest token.
        effect: The largest difference of a logit that the adapters make.
        saved_difference: The relative difference once the weights are saved and loaded again.
        dtype: The dtype of the weights.
        precision: The dtype in which they were merged.
        tied: Whether the output layer has the weights of the embeddings.
        resized: How many rows were added to the embeddings.
    """

    finite: bool
    difference: float | None
    relative: float | None
    agreement: float | None
    effect: float | None = 0.0
    saved_difference: float | None = 0.0
    dtype: str
    precision: str
    tied: bool
    resized: int = 0


class VocabularyAnswer(StageAnswer, frozen=True, kw_only=True):
    """What is known of the vocabulary before anything is converted.

    Attributes:
        pre_tokenizer: The name that the runtime is given; empty if the vocabulary needs none.
        found_by: How it was found: `hash`, `proof`, or `none` if it needs none.
        texts: How many texts were compared.
        equal: How many of them have equal token ids.
        first: The first that differs, with the ids of both; empty if none does.
    """

    pre_tokenizer: str
    found_by: str
    texts: int
    equal: int
    first: str


class ReferenceAnswer(StageAnswer, frozen=True, kw_only=True):
    """What the original gives, to compare with.

    Attributes:
        perplexity: Its perplexity on the sample.
        tokens: How many tokens of it were predicted.
        generated: How many tokens it writes for the prompt.
        ended: Whether it ended the answer itself.
    """

    perplexity: float | None
    tokens: int
    generated: int
    ended: bool


class FileAnswer(StageAnswer, frozen=True, kw_only=True):
    """What was measured on a GGUF file.

    Attributes:
        types: How many tensors have each type.
        texts: How many texts were compared.
        equal: How many of them have equal token ids.
        first: The first that differs, with the ids of both; empty if none does.
        template: Whether it has the chat template of the original.
        relative: The size of the difference of logits, relative to how much they vary over the vocabulary.
        agreement: The share of positions with the same likeliest token.
        perplexity: Its perplexity on the sample.
        generated: How many tokens it wrote for the prompt.
        ended: Whether it ended the answer itself.
        answer: The beginning of the answer.
        endless: The tokens that end an answer of the original, and that the runtime would go on after.
        memory_bytes: What its weights and its cache need.
    """

    types: Mapping[str, int]
    texts: int
    equal: int
    first: str
    template: bool
    relative: float | None
    agreement: float | None
    perplexity: float | None
    generated: int
    ended: bool
    answer: str
    endless: Sequence[str]
    memory_bytes: int
