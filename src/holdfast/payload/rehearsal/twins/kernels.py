"""Attention that needs a GPU's kernels: asked for as in reality, computed in another way."""

from typing import Any

from ..events import EventWriter
from ..packages import is_installed
from ..part_request import PartRequest
from ..wrapping import wrap
from .paths import given, with_given

PACKAGES = {"flash_attention_2": "flash_attn", "flash_attention_3": "flash_attn_interface"}
OLD_FLAG = "use_flash_attention_2"
KNOWN = {2: None, 3: None}
"""Versions of flash attention, where transformers itself does not list them."""


def watch(module: Any, part_request: PartRequest, events: EventWriter) -> None:
    """Have a twin take another attention where the job's needs a GPU; the real code refuses names that do not exist."""
    versions = getattr(module, "FLASH_ATTENTION_COMPATIBILITY_MATRIX", KNOWN)
    names = {f"flash_attention_{version}": "_supports_flash_attn" for version in versions}
    names["flex_attention"] = "_supports_flex_attn"
    choice = TwinAttention(names, part_request, events)
    wrap(module.PreTrainedModel, "_check_and_adjust_attn_implementation", choice.check)
    wrap(module.PreTrainedModel, "_autoset_attn_implementation", choice.choose)  # before transformers 4.56


class TwinAttention:
    """Replaces attention that needs a GPU, where a rehearsal assumes one that is not there.

    Args:
        names: The attribute by which a model says that it supports an attention, by the name of the attention.
        part_request: Says whether a GPU is assumed.
        events: Receives what is not rehearsed.
    """

    def __init__(self, names: dict[str, str], part_request: PartRequest, events: EventWriter) -> None:
        self._names, self._part_request, self._events = names, part_request, events
        self._reported: set[str] = set()

    def check(self, original: Any, model: Any, requested: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of `_check_and_adjust_attn_implementation`."""
        return original(model, self._possible(model, requested), *args, **kwargs)

    def choose(self, original: Any, cls: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of `_autoset_attn_implementation`."""
        by_flag = "flash_attention_2" if given(args, kwargs, 0, OLD_FLAG) else None
        implementation = by_flag or getattr(config, "_attn_implementation_internal", None)
        if (other := self._possible(cls, implementation)) != implementation:
            config._attn_implementation = other
            args, kwargs = with_given(args, kwargs, 0, OLD_FLAG, None) if by_flag else (args, kwargs)
        return original(cls, config, *args, **kwargs)

    def _possible(self, model: Any, requested: Any) -> Any:
        """Return the attention that a twin of a model can have."""
        if self._part_request.gpu != "assumed" or not isinstance(requested, str):
            return requested
        if not _needs_gpu(model, requested, self._names):
            return requested
        if requested not in self._reported:
            self._reported.add(requested)
            self._report(requested)
        return "sdpa" if _has_sdpa(model) else "eager"

    def _report(self, requested: str) -> None:
        package = PACKAGES.get(requested, "kernels" if "/" in requested else "torch")
        # The environment of the GPU may be another than this one: what is missing here is reported, and is no failure.
        lacking = not (is_installed(package) or is_installed("kernels"))
        also = f"; `{package}` is not in this environment" if lacking else ""
        self._events.not_rehearsed(
            f"attention by {requested}",
            f"it needs a GPU; `holdfast rehearse --gpu` on a machine with one shows it{also}",
        )
        self._events.fact("attention", asked=requested, package=package, lacking=lacking)


def _needs_gpu(model: Any, implementation: str, names: dict[str, str]) -> bool:
    """True if attention of a name is one that the model has, on a GPU only."""
    if "/" in implementation:  # a repository of kernels; without their package the real code refuses
        return is_installed("kernels")
    supported = names.get(implementation.removeprefix("paged|"), "")
    return bool(supported) and bool(getattr(model, supported, False) or getattr(model, f"{supported}_2", False))


def _has_sdpa(model: Any) -> bool:
    return bool(getattr(model, "_supports_sdpa", False))
