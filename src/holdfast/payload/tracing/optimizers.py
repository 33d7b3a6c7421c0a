"""The optimizer of a step."""

from collections.abc import Sequence
from typing import Any

import torch

from .request import OptimizerRequest

RATE = 1e-4
FLOAT32 = 4


def make_optimizer(request: OptimizerRequest, parameters: Sequence[Any], embedding: Any) -> Any:
    """Return torch's own optimizer, or one that allocates what another does, for a model with some embedding."""
    match request.name:
        case "adamw_torch":
            return torch.optim.AdamW(parameters, lr=RATE, foreach=True)
        case "adamw_torch_fused":
            return torch.optim.AdamW(parameters, lr=RATE, fused=True)
        case "sgd":
            return torch.optim.SGD(parameters, lr=RATE, foreach=True)
        case _:
            return AllocatingOptimizer(parameters, request, embedding if request.wide_embeddings else None)


class AllocatingOptimizer(torch.optim.Optimizer):
    """Keeps states of the sizes that are said, those of one parameter in float32, and computes nothing."""

    def __init__(self, parameters: Sequence[Any], request: OptimizerRequest, wide: Any) -> None:
        super().__init__(parameters, {"lr": RATE})
        self.request, self.wide = request, wide

    def step(self, closure: Any = None) -> Any:
        """Allocate states where there are none yet, and copies for a while."""
        del closure
        copies = []
        for group in self.param_groups:
            for parameter in group["params"]:
                element = FLOAT32 if parameter is self.wide else self.request.bytes or parameter.element_size()
                size = round(parameter.numel() * element)
                state = self.state[parameter]
                if not state:
                    state["states"] = [torch.empty(size, dtype=torch.uint8) for _ in range(self.request.states)]
                copies += [torch.empty_like(parameter) for _ in range(self.request.copies)]
