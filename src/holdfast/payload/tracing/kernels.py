"""Modules and losses whose kernels run on GPUs alone: what they allocate, without what they compute."""

# torch lets each `backward` name its own gradients.
# pyright: reportIncompatibleMethodOverride=false

from typing import Any

import torch
from torch import nn
from torch.autograd import Function

BLOCK = 64
"""Weights of a block that share a scale in 4 bits, and scales that share one (`NESTED`). Source: bitsandbytes 0.50 functional.py."""
NESTED = 256


class FourBitLinear(nn.Module):
    """A linear module with weights in 4 bits, which each pass turns into 16 bits anew."""

    def __init__(self, module: Any, compute: torch.dtype, *, nested: bool) -> None:
        super().__init__()
        self.in_features, self.out_features = module.in_features, module.out_features
        count = self.in_features * self.out_features
        blocks = count // BLOCK
        self.compute = compute
        self.weight = nn.Parameter(torch.empty(count // 2, 1, dtype=torch.uint8), requires_grad=False)
        self.register_buffer("scales", torch.empty(blocks, dtype=torch.uint8 if nested else torch.float32))
        self.register_buffer("code", torch.empty(16))
        if nested:
            self.register_buffer("outer_scales", torch.empty(-(-blocks // NESTED)))
            self.register_buffer("outer_code", torch.empty(NESTED))
        self.bias = module.bias

    def forward(self, hidden: Any) -> Any:
        """Return the product with the weights in 16 bits."""
        bias = None if self.bias is None else self.bias.to(self.compute)
        shape = self.out_features, self.in_features
        return _FourBitProduct.apply(hidden.to(self.compute), bias, shape).to(hidden.dtype)


class _FourBitProduct(Function):
    """Keeps nothing but the packed weights: both passes turn them into 16 bits."""

    @staticmethod
    def forward(ctx: Any, hidden: Any, bias: Any, shape: tuple[int, int]) -> Any:
        ctx.shape, ctx.dtype = shape, hidden.dtype
        return nn.functional.linear(hidden, torch.empty(shape, dtype=hidden.dtype), bias)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.to(ctx.dtype) @ torch.empty(ctx.shape, dtype=ctx.dtype), None, None


def clone_outputs(model: Any) -> None:
    """Have adapters on 4-bit modules clone what these give, and cast their input only where there is no autocast, as those of peft do.

    Source: peft 0.21 tuners/lora/bnb.py, Linear4bit.forward; the clones were seen on an H200.
    """
    for module in model.modules():
        if isinstance(getattr(module, "base_layer", None), FourBitLinear) and hasattr(module, "lora_A"):
            module.forward = _adapted_forward(module)


def _adapted_forward(module: Any) -> Any:
    def forward(hidden: Any) -> Any:
        made = module.base_layer(hidden)
        if module.disable_adapters:
            return made
        made = made.clone()
        for name in module.active_adapters:
            down, up = module.lora_A[name], module.lora_B[name]
            cast = not torch.is_autocast_enabled("cpu")
            given = hidden.to(down.weight.dtype) if cast else hidden
            added = up(down(module.lora_dropout[name](given))) * module.scaling[name]
            made = made + (added.to(made.dtype) if cast else added)
        return made

    return forward


class _FusedNorm(Function):
    """Keeps its input and one number a row; the gradient takes the place of that of its output.

    Source: liger-kernel 0.5 ops/rms_norm.py.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Any, weight: Any) -> Any:
        rows = torch.empty(hidden.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(hidden, weight, rows)
        return torch.empty_like(hidden)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        _, weight, _ = ctx.saved_tensors
        return gradient, torch.empty_like(weight) if ctx.needs_input_grad[1] else None


class _FusedGate(Function):
    """Keeps gate and up projection, and computes the activation again in their place. Source: liger-kernel 0.5 ops/swiglu.py."""

    @staticmethod
    def forward(ctx: Any, gate: Any, up: Any) -> Any:
        ctx.save_for_backward(gate, up)
        return torch.empty_like(gate)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        del gradient
        gate, up = ctx.saved_tensors
        return gate, up


class LigerLoss(Function):
    """Has all gradients in the forward pass already, a chunk of logits at a time.

    Source: liger-kernel 0.5 ops/fused_linear_cross_entropy.py.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Any, weight: Any) -> Any:
        """Return the loss; its gradients are there at once."""
        (tokens, width), vocabulary = hidden.shape, weight.shape[0]
        chunk = 1 << (-(-tokens // -(-vocabulary // width)) - 1).bit_length()
        gradient = torch.zeros_like(hidden)
        of_weight = torch.zeros_like(weight) if weight.requires_grad else None
        for start in range(0, tokens, chunk):
            part = hidden[start : start + chunk]
            logits = part @ weight.to(part.dtype).t()
            gradient[start : start + chunk] = logits @ weight.to(part.dtype)
            if of_weight is not None:
                torch.addmm(of_weight, logits.t(), part.to(logits.dtype), out=of_weight)
        ctx.save_for_backward(gradient, of_weight)
        return torch.zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Return the gradients."""
        del gradient
        return ctx.saved_tensors


class OverwritingCrossEntropy(Function):
    """A cross entropy whose gradients take the place of its logits."""

    @staticmethod
    def forward(ctx: Any, logits: Any) -> Any:
        """Return the loss."""
        ctx.save_for_backward(logits)
        return torch.zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Return the gradients, where the logits were."""
        del gradient
        return ctx.saved_tensors[0]


def fuse(model: Any, parts: tuple[str, ...]) -> None:
    """Have fused kernels compute some parts of a model."""
    for module in model.modules():
        kind = type(module).__name__
        if "norm" in parts and kind.endswith("RMSNorm"):
            module.forward = _norm_forward(module)
        if "mlp" in parts and kind.endswith("MLP") and hasattr(module, "gate_proj"):
            module.forward = _gate_forward(module)


def _norm_forward(module: Any) -> Any:
    return lambda hidden: _FusedNorm.apply(hidden, module.weight)


def _gate_forward(module: Any) -> Any:
    return lambda hidden: module.down_proj(_FusedGate.apply(module.gate_proj(hidden), module.up_proj(hidden)))
