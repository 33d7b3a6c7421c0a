"""Real traces of small steps, all made in one process."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from holdfast.adapters.tracing import trace_steps
from holdfast.payload.tracing.request import TraceAnswer, TraceRequest

LAYERS: Final = 5
DEPTHS: Final = (2, 3)
LLAMA: Final[Mapping[str, Any]] = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 8192,
    "tie_word_embeddings": False,
}
TIED: Final[Mapping[str, Any]] = {**LLAMA, "tie_word_embeddings": True}
PROJECTIONS: Final = ("q_proj", "k_proj", "v_proj", "o_proj")


def small_request(**changes: Any) -> TraceRequest:
    """Return a step of two rows of 256 tokens, with some things changed."""
    given: dict[str, Any] = {"config": dict(LLAMA), "layers": LAYERS, "rows": 2, "length": 256, **changes}
    return TraceRequest(**given)


def trace_all(requests: Mapping[str, TraceRequest]) -> dict[str, TraceAnswer]:
    """Return the trace of each step by its name."""
    answers = trace_steps(list(requests.values()), [sys.executable], limit_s=280, header="")
    return dict(zip(requests, answers, strict=True))
