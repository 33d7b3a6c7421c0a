"""Attention that needs a GPU's kernels: asked for as in reality, computed in another way."""

import importlib.util
from typing import Any

from ..order import Order
from ..telling import Tell, wrap

PACKAGES = {"flash_attention_2": "flash_attn", "flash_attention_3": "flash_attn_interface"}
KNOWN = {2: None, 3: None}
"""Versions of flash attention, where transformers itself does not list them."""


def watch(module: Any, order: Order, tell: Tell) -> None:
    """Have a twin take another attention where the job's needs a GPU. Names that there are not, the real code refuses."""
    versions = getattr(module, "FLASH_ATTENTION_COMPATIBILITY_MATRIX", KNOWN)
    names = {f"flash_attention_{version}": "_supports_flash_attn" for version in versions}
    names["flex_attention"] = "_supports_flex_attn"
    told: set[str] = set()

    def around(original: Any, model: Any, asked: Any, *args: Any, **kwargs: Any) -> Any:
        if order.gpu != "assumed" or not isinstance(asked, str) or not _needs_gpu(model, asked, names):
            return original(model, asked, *args, **kwargs)
        if asked not in told:
            told.add(asked)
            package = PACKAGES.get(asked, "kernels" if "/" in asked else "torch")
            # The environment of the GPU may be another than this one: what is missing here is told, and is no failure.
            lacking = not (_is_there(package) or _is_there("kernels"))
            also = f"; `{package}` is not in this environment" if lacking else ""
            tell.not_rehearsed(f"attention by {asked}", f"a machine with a GPU: holdfast rehearse --gpu there{also}")
            tell.fact("attention", asked=asked, package=package, lacking=lacking)
        return original(model, "sdpa" if _has_sdpa(model) else "eager", *args, **kwargs)

    wrap(module.PreTrainedModel, "_check_and_adjust_attn_implementation", around)


def _needs_gpu(model: Any, asked: str, names: dict[str, str]) -> bool:
    """Return whether attention of a name is one that the model has, on a GPU only."""
    if "/" in asked:  # a repository of kernels; without their package the real code refuses
        return _is_there("kernels")
    supported = names.get(asked.removeprefix("paged|"), "")
    return bool(supported) and bool(getattr(model, supported, False) or getattr(model, f"{supported}_2", False))


def _has_sdpa(model: Any) -> bool:
    return bool(getattr(model, "_supports_sdpa", False))


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
