"""What a GPU computes otherwise than the processor that stands for it: kernels of attention, dropout, and TRL's head."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

FLASH = "holdfast_flash"
"""The name under which flash attention is registered with transformers."""
FLASH_HEAD = 256
"""Widest head of flash attention. Source: torch 2.13 aten/src/ATen/native/transformers/cuda/sdp_utils.cpp."""
BIAS_ALIGNMENT = 16
"""What a mask's rows are padded to. Source: the same folder, attention.cpp, pad_bias."""
HALF = (torch.float16, torch.bfloat16)


def register_flash() -> None:
    """Have transformers know flash attention without the package, which needs a GPU to be installed."""
    ALL_ATTENTION_FUNCTIONS.register(FLASH, flash_attention_forward)
    ALL_MASK_ATTENTION_FUNCTIONS.register(FLASH, lambda *_, **__: None)


def flash_attention_forward(  # noqa: PLR0913, PLR0917 - transformers' own signature
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    dropout: float = 0.0,
    scaling: Any = None,
    **_: Any,
) -> tuple[Any, None]:
    """Return what transformers' wrapper of flash attention gives: rows, tokens, heads, widths."""
    del attention_mask
    query, key, value = (_narrowed(each) for each in (query, key, value))
    made = _flash(query, key, value, dropout if module.training else 0.0, causal=True, scale=scaling)
    return made.transpose(1, 2).contiguous(), None


def attend(  # noqa: PLR0913, PLR0917 - torch's own signature
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # noqa: FBT001, FBT002 - torch's own signature
    scale: Any = None,
    enable_gqa: bool = False,  # noqa: FBT001, FBT002 - torch's own signature
) -> Any:
    """Return scaled dot product attention by the kernel that a GPU would take: flash, memory-efficient, or plain products.

    Source: sdp_utils.cpp: flash takes no mask and no float32; memory-efficient attention takes no grouped heads.
    """
    query, key, value = (_cast(each) for each in (query, key, value))
    flash = (
        attn_mask is None and query.dtype in HALF and query.shape[-1] <= FLASH_HEAD and key.shape[-1] == value.shape[-1]
    )
    if flash:
        return _flash(query, key, value, dropout_p, causal=is_causal, scale=scale)
    if enable_gqa and key.shape[1] != query.shape[1]:
        return torch.ops.aten._scaled_dot_product_attention_math(
            query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=True
        )[0]
    bias = None if attn_mask is None else _bias(attn_mask, query, key)
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, torch.is_grad_enabled(), dropout_p, is_causal, scale=scale
    )[0]


def _flash(query: Any, key: Any, value: Any, dropout: float, *, causal: bool, scale: Any) -> Any:
    return torch.ops.aten._scaled_dot_product_flash_attention(
        query, key, value, dropout, causal, return_debug_mask=False, scale=scale
    )[0]


def _bias(mask: Any, query: Any, key: Any) -> Any:
    """Return a mask as the kernel reads it: numbers in the dtype of the queries, in aligned rows, one for all heads."""
    length = key.shape[2]
    if mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask, 0.0)
    if (over := length % BIAS_ALIGNMENT) and mask.shape[-1] == length:
        mask = functional.pad(mask, (0, BIAS_ALIGNMENT - over))[..., :length]
    return mask.to(query.dtype).expand(query.shape[0], query.shape[1], query.shape[2], length)


def _cast(tensor: Any) -> Any:
    """Return a tensor as autocast gives it to attention."""
    return tensor.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else tensor


def _narrowed(tensor: Any) -> Any:
    """Return a tensor as transformers gives it to flash attention, which takes 16 bits alone."""
    if tensor.dtype in HALF:
        return tensor
    return tensor.to(torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.bfloat16)


def drop(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002, FBT001, FBT002 - torch's own signature
    """Return dropout with a mask of a byte, as the fused kernel of GPUs has it."""
    del inplace
    return torch.native_dropout(input, p, True)[0] if training and p else input  # noqa: FBT003 - torch's own signature


class _Kernel:
    """Stands for a Triton kernel that works in place."""

    def __getitem__(self, _: Any) -> Any:
        return lambda *_, **__: None


class Selecting(TorchFunctionMode):
    """Has a mask select as many tokens of each row as are scored, for how many it would select depends on data.

    Args:
        tokens: Of each row; 0 for all.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = tokens

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replace indexing by a mask with indexing by as many positions."""
        del types
        if func is torch.Tensor.__getitem__ and isinstance(args[1], torch.Tensor) and args[1].dtype is torch.bool:
            values, mask = args
            each = mask.shape[-1]
            count = mask.numel() // each * min(self.tokens or each, each)
            return values[tuple(torch.zeros(count, dtype=torch.long) for _ in mask.shape)]
        return func(*args, **(kwargs or {}))


@contextmanager
def patched(places: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Have some attributes be others meanwhile."""
    kept = {(holder, name): getattr(holder, name) for holder, name in places}
    for (holder, name), value in places.items():
        setattr(holder, name, value)
    try:
        yield
    finally:
        for (holder, name), value in kept.items():
            setattr(holder, name, value)


def gpu_kernels() -> dict[tuple[Any, str], Any]:
    """Return what stands in for functions of torch."""
    return {(functional, "scaled_dot_product_attention"): attend, (functional, "dropout"): drop}


def plain_causal_mask() -> dict[tuple[Any, str], Any]:
    """Return what has transformers see that no texts share a row: it reads the positions for that, and fake tensors have no values."""
    from transformers import masking_utils

    name = "find_packed_sequence_indices"
    return {(masking_utils, name): lambda *_, **__: None} if hasattr(masking_utils, name) else {}


def fused_head_kernels() -> dict[tuple[Any, str], Any]:
    """Return what stands in for the kernels of TRL's fused head, which work in place."""
    import trl.kernels.chunked_logprob as kernels
    import trl.trainer.utils as head

    names = {"_forward_kernel": _Kernel(), "_backward_kernel": _Kernel(), "_addmm_fp32": lambda *_: None}
    found: dict[tuple[Any, str], Any] = {(kernels, name): value for name, value in names.items()}
    if not hasattr(kernels, "triton"):
        kernels.triton = _Ceiling  # pyright: ignore[reportPrivateImportUsage]  # it is not there without a GPU
    return found | {(each, "_use_triton"): lambda _: True for each in (kernels, head)}


class _Ceiling:
    """Stands for the module `triton` where it is not installed."""

    @staticmethod
    def cdiv(part: int, whole: int) -> int:
        """Return a quotient, rounded up."""
        return -(-part // whole)
