"""Quantizations of GGUF files: what each costs, and what it falls back to where it does not fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

BLOCK: Final = 256
"""A K-quant takes the numbers of a row in blocks of so many."""
SMALL_BLOCK: Final = 32
FALLBACKS: Final[Mapping[str, str]] = {"q2_k": "Q4_0", "q3_k": "Q4_0", "q4_k": "Q5_0", "q5_k": "Q5_1", "q6_k": "Q8_0"}
"""What a tensor becomes whose rows are not a multiple of a K-quant's block. Source: `tensor_type_fallback` in llama.cpp's llama-quant.cpp."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantization.

    Attributes:
        file_type: Its number. Source: `enum llama_ftype` in llama.cpp's llama.h.
        bits: How many bits a weight takes, about.
        usual_loss: By what share the perplexity of a model with 7 billion parameters grows. Source: the table of llama.cpp's page on
            quantization for Llama 2 7B.
    """

    file_type: int
    bits: float
    usual_loss: float


QUANTIZATIONS: Final[Mapping[str, Quantization]] = {
    "f16": Quantization(1, 16.0, 0.0),
    "q8_0": Quantization(7, 8.5, 0.0003),
    "q6_k": Quantization(18, 6.6, 0.0013),
    "q5_k_m": Quantization(17, 5.7, 0.0039),
    "q4_k_m": Quantization(15, 4.9, 0.0168),
    "q4_k_s": Quantization(14, 4.6, 0.0262),
    "q3_k_m": Quantization(12, 3.9, 0.0607),
    "q2_k": Quantization(10, 3.0, 0.153),
}
FIRST: Final = "f16"
"""The one that the others are made from."""


def needed_bytes(parameters: int, stored: int, quantizations: Sequence[str]) -> int:
    """Return how much disk an export takes at most: the merged model, the GGUF file that the others are made from, and those.

    >>> needed_bytes(1000, 2000, ["q8_0"])
    5062
    """
    return stored + sum(int(parameters * QUANTIZATIONS[each].bits / 8) for each in {FIRST, *quantizations})


def row_lengths(config: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the lengths of rows that the configuration of a model tells.

    >>> row_lengths({"hidden_size": 896, "intermediate_size": 4864})
    {'hidden_size': 896, 'intermediate_size': 4864}
    """
    nested = config.get("text_config")
    settings = {**config, **nested} if isinstance(nested, Mapping) else config
    names = ("hidden_size", "n_embd", "intermediate_size", "n_inner", "moe_intermediate_size")
    return {name: settings[name] for name in names if isinstance(settings.get(name), int)}


def fallback_notes(config: Mapping[str, Any], quantizations: Sequence[str]) -> Iterator[str]:
    """Yield which rows do not fit a quantization, and what they become.

    >>> list(fallback_notes({"hidden_size": 896}, ["q4_k_m"]))
    ['q4_k_m: rows of 896 numbers (hidden_size) are not a multiple of 256, so their tensors become Q5_0 instead of Q4_K, Q8_0 instead of Q6_K']
    """
    odd = {name: length for name, length in row_lengths(config).items() if length % BLOCK}
    if not odd:
        return
    rows = " and ".join(f"{length:,} numbers ({name})" for name, length in odd.items())
    for quantization in quantizations:
        if note := _fallback(quantization, odd.values()):
            yield f"{quantization}: rows of {rows} are not a multiple of {note}"


def _fallback(quantization: str, lengths: Iterable[int]) -> str:
    """Return the block that rows of some lengths do not fill, and what becomes of their tensors; empty if nothing does."""
    if quantization != FIRST and any(length % SMALL_BLOCK for length in lengths):
        return f"{SMALL_BLOCK} or of {BLOCK}, so some tensors stay F16"
    own = FALLBACKS.get(quantization[:4])
    if own is None:
        return ""
    others = "" if quantization.startswith("q6") else ", Q8_0 instead of Q6_K"
    return f"{BLOCK}, so their tensors become {own} instead of {quantization[:4].upper()}{others}"
