"""Sampling that gives a row the same answer whatever else is in its batch.

Adding Gumbel noise to the logits and taking the largest is sampling from their softmax. Each row has a generator of its own,
so neither the batch size nor a resumed evaluation changes what is drawn.
"""

from typing import Any

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from .work_request import GenerationRequest

PRIME = 1_000_003
TINY = 1e-10


class RowNoise(LogitsProcessor):  # type: ignore[misc]  # transformers has no types here
    """Adds each row's own noise to its logits."""

    def __init__(self, seed: int, rows: list[int]) -> None:
        """Make the generators.

        Args:
            seed: The seed of the evaluation.
            rows: The numbers of the rows in the batch.
        """
        self._generators = [torch.Generator().manual_seed((seed * PRIME + row) % (1 << 63)) for row in rows]

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002 - transformers' signature
        """Return the logits with noise: float32, (batch, vocabulary)."""
        drawn = [torch.rand(scores.shape[-1], generator=each) for each in self._generators]
        uniform = torch.stack(drawn).to(scores.device).clamp(TINY, 1 - TINY)
        return scores.float() - torch.log(-torch.log(uniform))


def samplers(request: GenerationRequest, rows: list[int]) -> LogitsProcessorList:
    """Return the processors that make the largest logit a sample; none if the likeliest token is taken."""
    if request.temperature == 0:
        return LogitsProcessorList()
    chosen: list[Any] = [TemperatureLogitsWarper(request.temperature)]
    if request.top_k:
        chosen.append(TopKLogitsWarper(request.top_k))
    if request.top_p < 1:
        chosen.append(TopPLogitsWarper(request.top_p))
    return LogitsProcessorList([*chosen, RowNoise(request.seed, rows)])
