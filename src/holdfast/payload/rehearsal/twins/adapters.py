"""Adapters that the script goes on from: their configuration is read, their weights are as the twin's shapes want them."""

import os
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import wrap
from . import heads
from .paths import given, with_given, written_at
from .weights import size_of

FILES = ("adapter_model.safetensors", "adapter_model.bin")


def watch(module: Any, part_request: PartRequest, events: EventWriter) -> None:
    """Have `PeftModel` load adapters without reading their weights."""
    loading: list[tuple[Any, str]] = []  # the model that an adapter is loaded into, and the adapter's name in it

    def found(args: Any, kwargs: Any, place: int) -> Any:
        path = given(args, kwargs, place, "model_id")
        there = written_at(path, part_request)
        return with_given(args, kwargs, place, "model_id", there) if there else (args, kwargs)

    def from_pretrained(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        with events.loading("model"):
            args, kwargs = found(args, kwargs, 1)
            return original(cls, *args, **kwargs)

    def load_adapter(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        if written_at(given(args, kwargs, 0, "model_id"), part_request):
            args, kwargs = found(args, kwargs, 0)
            return original(model, *args, **kwargs)
        loading.append((model, given(args, kwargs, 1, "adapter_name")))
        try:
            return original(model, *args, **kwargs)
        finally:
            loading.pop()

    def weights(original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if not loading or not _has_weights(path, kwargs):  # what is not there the real code misses
            return original(path, *args, **kwargs)
        events.fact("adapter", path=str(path), kind="folder" if Path(path).is_dir() else "hub")
        model, name = loading[-1]
        return _own(module, model, name)

    def save_pretrained(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        heads.look(model, events)
        return original(model, *args, **kwargs)

    wrap(module.PeftModel, "from_pretrained", from_pretrained)
    wrap(module.PeftModel, "save_pretrained", save_pretrained)
    wrap(module.PeftModel, "load_adapter", load_adapter)
    wrap(module, "load_peft_weights", weights)


def watch_mixin(module: Any, part_request: PartRequest, loader: Any) -> None:
    """Have `model.load_adapter` of transformers load adapters without reading their weights."""

    def load_adapter(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        path = given(args, kwargs, 0, "peft_model_id")
        if path is None or loader.active:
            return original(model, *args, **kwargs)
        if there := written_at(path, part_request):
            args, kwargs = with_given(args, kwargs, 0, "peft_model_id", there)
            return original(model, *args, **kwargs)
        with loader.pretending(path):
            return original(model, *args, **kwargs)

    wrap(module.PeftAdapterMixin, "load_adapter", load_adapter)


def _has_weights(path: Any, where: dict[str, Any]) -> bool:
    folder = os.path.join(path, where.get("subfolder") or "")  # noqa: PTH118 - in the words of PEFT
    if Path(path).is_dir():
        return any(Path(folder, name).is_file() for name in FILES)
    token = where.get("token", where.get("use_auth_token"))
    return any(size_of(str(path), name, {**where, "token": token}) is not None for name in FILES)


def _own(module: Any, model: Any, name: str) -> dict[str, Any]:
    """Return the weights that an adapter was just given, as its file would hold them."""
    state = module.get_peft_model_state_dict(model, adapter_name=name)
    return {key: value.detach().clone() for key, value in state.items()}
