"""What an export needs, and what its process answers, stage by stage. A figure is None if it is no number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

QuantizationName = Literal["f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_k_s", "q3_k_m", "q2_k"]
"""The quantizations of GGUF files that an export makes; `engine.export.quantizations` describes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTools:
    """What this machine has for GGUF files.

    Attributes:
        runtime: The version of the runtime, llama-cpp-python; empty if it is not installed.
        broken: Why the runtime does not load; empty if it does.
        compiler: Whether there is a C++ compiler.
        cmake: Whether there is CMake.
        missing: The Python packages that the converter needs and that are not installed.
        system: What the system calls itself, and what it is like: `debian`.
        free_bytes: The free space of the disk of the export.
    """

    runtime: str
    broken: str
    compiler: bool
    cmake: bool
    missing: tuple[str, ...]
    system: tuple[str, ...]
    free_bytes: int


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
        listed: The name that the converter's table of hashes has; empty if it has none.
        texts: How many texts were compared.
        equal: How many of them have equal token ids.
        composed: How many of those only once their characters are composed, as the original does by itself.
        unspaced: How many of those only without the space that they begin with.
        first: The first that differs, with the ids of both; empty if none does.
    """

    pre_tokenizer: str
    found_by: str
    listed: str
    texts: int
    equal: int
    composed: int
    unspaced: int
    first: str


class ChatParts(Struct, frozen=True, kw_only=True):
    """What a chat template writes around each message.

    Attributes:
        begin: What a chat begins with.
        roles: What stands before and after a message of a role.
        opening: What the model's answer begins after.
    """

    begin: str
    roles: Mapping[str, tuple[str, str]]
    opening: str


class ReferenceAnswer(StageAnswer, frozen=True, kw_only=True):
    """What the original gives, to compare with.

    Attributes:
        perplexity: Its perplexity on the sample.
        tokens: How many tokens of it were predicted.
        generated: How many tokens it writes for the prompt.
        ended: Whether it ended the answer itself.
        chat: What stands around messages; None if that depends on more than their roles.
        begins: The token that begins a text; empty if there is none.
        stops: The tokens that end an answer.
        sampling: How it is sampled from.
    """

    perplexity: float | None
    tokens: int
    generated: int
    ended: bool
    chat: ChatParts | None = None
    begins: str = ""
    stops: Sequence[str] = ()
    sampling: Mapping[str, float] = {}


class FileAnswer(StageAnswer, frozen=True, kw_only=True):
    """What was measured on a GGUF file.

    Attributes:
        types: How many tensors have each type.
        texts: How many texts were compared.
        equal: How many of them have equal token ids.
        composed: How many of those only once their characters are composed, as the original does by itself.
        unspaced: How many of those only without the space that they begin with.
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
    composed: int
    unspaced: int
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
