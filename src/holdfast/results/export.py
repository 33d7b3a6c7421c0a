"""The result of `export`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from holdfast.results import Result, ResultPart
from holdfast.results.run import DeliveryResult


class ExportCheck(ResultPart, frozen=True, kw_only=True):
    """A check of a file.

    Attributes:
        name: What was compared. `weights`: whether all of them are present and finite.
        verdict: Whether it holds.
        value: The figure that decides it: for `token-ids`, the share of texts with equal ids; for `logits`, the size of the difference, relative to
            how much the logits vary over the vocabulary; for `perplexity`, the relative increase over the original's; for `generation`, the number
            of tokens; for `weights`, the number of bytes. Null if it could not be
            measured.
        because: The evidence.
    """

    name: Literal["weights", "token-ids", "logits", "perplexity", "generation"]
    verdict: Literal["pass", "fail"]
    value: float | None
    because: str


class ExportedFile(ResultPart, frozen=True, kw_only=True):
    """A model that was made: the files of weights of a folder, or a GGUF file.

    Attributes:
        path: The folder or the file; empty if it was not delivered, because a check failed.
        format: The format.
        quantization: The quantization of a GGUF file; null for safetensors.
        bytes: The size of the weights.
        memory_bytes: The memory for its weights and its cache, with a context of 4,096 tokens (or the longest that it can read, if shorter).
        types: How many tensors have each type.
        checks: The checks.
    """

    path: str
    format: Literal["safetensors", "gguf"]
    quantization: str | None
    bytes: int
    memory_bytes: int
    types: Mapping[str, int]
    checks: Sequence[ExportCheck]


class ExportStep(ResultPart, frozen=True, kw_only=True):
    """A step, with its time and memory.

    Attributes:
        name: `merge`, `vocabulary`, `reference`, `convert`, or `quantize` and `prove` with the quantization.
        elapsed_s: Its time.
        peak_bytes: The most memory of its process.
    """

    name: str
    elapsed_s: float
    peak_bytes: int


class ExportResult(Result, frozen=True, kw_only=True):
    """A model for use elsewhere, and the checks that it is the same.

    Attributes:
        verdict: `fail` if a check failed, or a push did not arrive.
        model: The model, as it was named.
        base: The base that adapters were merged into; null if there were none.
        adapters: The adapters, in the order in which they were merged.
        output: The folder of the export; empty if nothing could be delivered.
        files: The models that were made.
        dtype: The dtype of the safetensors files.
        precision: The dtype in which the adapters were merged; `copied` if there was nothing to merge.
        tied: Whether the output layer has the weights of the embeddings.
        added_tokens: How many rows of the embeddings training added to those of the base.
        converter: The converter with its release and the SHA-256 of the archive that it is from; empty if there is no GGUF file.
        pre_tokenizer: How the GGUF files split texts before tokenization, and how this was determined; empty if there is none.
        modelfile: The file for Ollama; empty if there is no GGUF file.
        card: The model card.
        notes: Notes for users of the model.
        steps: The steps, each with its time and memory.
        versions: The versions of the libraries.
        pushed: Whether the export arrived on the Hub; null if it was not pushed.
    """

    verb: Literal["export"]
    verdict: Literal["pass", "fail"]
    model: str
    base: str | None
    adapters: Sequence[str]
    output: str
    files: Sequence[ExportedFile]
    dtype: str
    precision: str
    tied: bool
    added_tokens: int
    converter: str
    pre_tokenizer: str
    modelfile: str
    card: str
    notes: Sequence[str]
    steps: Sequence[ExportStep]
    versions: Mapping[str, str]
    pushed: DeliveryResult | None

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")
