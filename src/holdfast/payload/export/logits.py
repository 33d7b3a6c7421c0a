"""Logits for some texts, and how far two series of them are apart."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..whole_weights import refuse_unknown_tokens
from .texts import some_texts

COMPARED = 12
LONGEST = 64


def logits_of(model: Any, tokenizer: Any) -> Iterator[torch.Tensor]:
    """Yield the logits for some texts, on this processor."""
    refuse_unknown_tokens(tokenizer, model)
    limit = len(model.get_input_embeddings().weight)
    for text in some_texts(COMPARED):
        ids = [each for each in tokenizer(text)["input_ids"][:LONGEST] if each < limit]
        with torch.no_grad():
            yield model(input_ids=torch.tensor([ids or [0]])).logits.float().flatten(0, -2)


def measured(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> dict[str, Any]:
    """Return how far two series of logits are apart."""
    both = list(zip(before, after, strict=True))
    same = sum(int((one.argmax(-1) == two.argmax(-1)).sum()) for one, two in both)
    return {
        "finite": all(bool(each.isfinite().all()) for each in (*before, *after)),
        "difference": max(float((one - two).abs().max()) for one, two in both),
        "relative": relative_difference(before, after),
        "agreement": same / sum(len(each) for each in before),
    }


def largest_difference(one: Sequence[torch.Tensor], two: Sequence[torch.Tensor]) -> float:
    """Return the largest difference of a logit."""
    return max(float((mine - other).abs().max()) for mine, other in zip(one, two, strict=True))


def relative_difference(one: Sequence[torch.Tensor], two: Sequence[torch.Tensor]) -> float:
    """Return the size of the difference of logits, relative to how much they vary over the vocabulary."""
    mine, other = torch.cat(list(one)), torch.cat(list(two))
    varied = float((mine - mine.mean(-1, keepdim=True)).norm())
    return float((mine - other).norm()) / varied if varied else 0.0
