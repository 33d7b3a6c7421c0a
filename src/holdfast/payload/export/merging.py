"""Merging adapters into their base, in full precision, with the logits before and after."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers
from huggingface_hub import snapshot_download

from ..whole_weights import WeightsError, load_whole
from .adapting import adapter_names, add_adapters, fit_embeddings, is_tied, labels_of, set_tied
from .errors import ExportError
from .logits import largest_difference, logits_of, measured, relative_difference
from .tokenizers import load_tokenizer, save_tokenizer

ROOM = 1.2
"""How much more memory than the weights in float32 is free where they are merged in it."""
LEFT_OUT = (
    *("optimizer*", "scheduler*", "rng_state*", "scaler.pt", "training_args.bin", "trainer_state.json"),
    *("checkpoint-*", "runs", "logs", "README.md", "*.gguf", ".*"),
)
"""Files in the folder of a model that say nothing to whoever loads it."""


@dataclass(frozen=True)
class MergeRequest:
    """What is to be merged.

    Attributes:
        path: The folder or Hub id of the base, or of the whole model.
        revision: Of the base on the Hub; None for the newest.
        adapters: The folders or Hub ids of the adapters, in order.
        tokenizer: The folder or Hub id of the tokenizer.
        template: The chat template, if the tokenizer has none.
        classifies: Whether it has a classification head.
        dtype: The dtype to save in; None for that of the base.
        shard_size: The largest file of weights, as `5GB`.
        out: The folder to write.
    """

    path: str
    revision: str | None
    adapters: list[str]
    tokenizer: str
    template: str | None
    classifies: bool
    dtype: str | None
    shard_size: str
    out: str


def merge(request: MergeRequest) -> dict[str, Any]:
    """Write the whole model; return what was measured on the way."""
    tokenizer = load_tokenizer(request.tokenizer, request.template)
    if not request.adapters and request.dtype is None and (folder := _stored_whole(request)):
        return _copy(folder, tokenizer, request)
    model, precision, kept = _in_full_precision(load_base(request))
    added = fit_embeddings(model, request.adapters, len(tokenizer))
    merged, facts = _merged(model, tokenizer, request.adapters)
    tied = _say_whether_tied(merged)
    _cast(merged, kept, request.dtype)
    dtype, before = _dtype_of(merged), facts.pop("before")
    merged.config.dtype = merged.dtype
    save(merged, tokenizer, request, Path(request.out))
    del model, merged  # the saved model is loaded beside nothing
    saved = _load_saved(request)
    after = relative_difference(before, list(logits_of(saved, tokenizer)))
    return {**facts, "saved_difference": after, "dtype": dtype, "precision": precision, "tied": tied, "resized": added}


def _copy(folder: Path, tokenizer: Any, request: MergeRequest) -> dict[str, Any]:
    """Copy a model that is whole already, and load the copy."""
    shutil.copytree(folder, request.out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    if request.template or request.tokenizer != request.path:
        save_tokenizer(tokenizer, [request.tokenizer, request.path], Path(request.out))
    model = _load(request, request.out, None, "auto")
    logits = list(logits_of(model, tokenizer))
    return {**measured(logits, logits), "dtype": _dtype_of(model), "precision": "copied", "tied": is_tied(model)}


def _merged(model: Any, tokenizer: Any, adapters: list[str]) -> tuple[Any, dict[str, Any]]:
    """Return a base with adapters as one model, and what changed by it."""
    if not adapters:
        before = list(logits_of(model, tokenizer))
        return model, {**measured(before, before), "before": before}
    adapted = add_adapters(model, adapters)
    before = list(logits_of(adapted, tokenizer))
    with adapted.disable_adapter():
        effect = largest_difference(before, list(logits_of(adapted, tokenizer)))
    merged = adapted.merge_and_unload(safe_merge=True, adapter_names=adapter_names(adapters))
    return merged, {**measured(before, list(logits_of(merged, tokenizer))), "effect": effect, "before": before}


def load_base(request: MergeRequest) -> Any:
    """Return the base, as it is stored."""
    config = transformers.AutoConfig.from_pretrained(request.path, revision=request.revision)
    refuse_quantized(config, request.path)
    more: dict[str, Any] = {}
    if request.adapters and request.classifies:
        more["num_labels"] = labels_of(request.adapters[0])
    return _load(request, request.path, request.revision, "auto", **more)


def refuse_quantized(config: Any, name: str) -> None:
    """Raise if a model is stored quantized: merging into rounded weights would make another model than was trained."""
    stored = getattr(config, "quantization_config", None)
    if stored is not None:
        method = stored.get("quant_method") if isinstance(stored, dict) else getattr(stored, "quant_method", None)
        raise ExportError("quantized", f"{name} is stored quantized ({getattr(method, 'value', method)})")


def _load(request: MergeRequest, path: str, revision: str | None, dtype: Any, *, name: str = "", **more: Any) -> Any:
    """Return a model of the class that the configuration names; all its weights must be there. A copy is called as its model is."""
    config = transformers.AutoConfig.from_pretrained(request.path, revision=request.revision)
    kind = class_of(config)
    if request.classifies and "Classification" not in kind.__name__:
        kind = transformers.AutoModelForSequenceClassification
    called = name or request.path
    model = load_whole(kind, path, name=called, has_new_head=bool(more), revision=revision, dtype=dtype, **more)
    return model.eval()


def _load_saved(request: MergeRequest) -> Any:
    """The model that was written; what it lacks, its base may have."""
    try:
        return _load(request, request.out, None, torch.float32, name="the saved model")
    except WeightsError as error:
        raise ExportError("unsaved", str(error)) from error


def class_of(config: Any) -> Any:
    """The class that a configuration names, if it is one of its type with a head; else the one that writes."""
    named: Any = getattr(transformers, str(next(iter(config.architectures or ()), "")), None)
    fits = getattr(named, "config_class", None) is type(config) and "For" in named.__name__
    return named if fits else transformers.AutoModelForCausalLM


def _stored_whole(request: MergeRequest) -> Path | None:
    """Return the folder of a model whose files can be copied; None if they have to be written anew."""
    folder = Path(request.path)
    if not folder.is_dir():
        ignored = ["*.bin", "*.pt", "*.pth", "*.gguf", "*.onnx", "*.h5", "*.msgpack"]
        folder = Path(snapshot_download(request.path, revision=request.revision, ignore_patterns=ignored))
    return folder if list(folder.glob("*.safetensors")) else None


def _in_full_precision(model: Any) -> tuple[Any, str, dict[str, torch.dtype]]:
    """Return a model in float32 if memory allows, what it is in now, and the dtypes that its weights were stored in."""
    kept = {name: each.dtype for name, each in model.named_parameters()}
    needed = sum(each.numel() for each in model.parameters()) * 4
    if needed * ROOM > psutil.virtual_memory().available:
        return model, str(model.dtype).removeprefix("torch."), kept
    return model.float(), "float32", kept


def _say_whether_tied(model: Any) -> bool:
    """Have the configuration say what is so, since loading ties what it says is tied."""
    tied = is_tied(model)
    if not tied and model.get_output_embeddings() is not None:
        set_tied(model, tied=False)
    return tied


def _cast(model: Any, kept: dict[str, torch.dtype], dtype: str | None) -> None:
    """Give each weight the dtype that it was stored in, or the one that is requested."""
    usual = max(kept.values(), key=list(kept.values()).count)
    chosen = getattr(torch, dtype) if dtype else None
    for name, each in model.named_parameters():
        each.data = each.data.to(chosen or kept.get(name, usual))
        if not bool(each.data.isfinite().all()):
            raise ExportError("overflow", f"{name} is not finite in {str(each.dtype).removeprefix('torch.')}")


def _dtype_of(model: Any) -> str:
    return str(next(iter(model.parameters())).dtype).removeprefix("torch.")


def save(model: Any, tokenizer: Any, request: MergeRequest, out: Path) -> None:
    """Save weights, tokenizer and generation settings; an answer ends where the tokenizer's does."""
    generation = getattr(model, "generation_config", None)
    if generation is not None:
        model.generation_config = transformers.GenerationConfig()  # saving refuses settings that loading takes
    model.save_pretrained(out, max_shard_size=request.shard_size)
    save_tokenizer(tokenizer, [request.tokenizer, request.path], out)
    if generation is None:
        return
    changed = generation.to_diff_dict().items()
    settings = {
        key: value for key, value in changed if value is not None and not key.startswith(("_", "output_", "use_"))
    }
    ends = settings.get("eos_token_id", [])
    ends = ends if isinstance(ends, list) else [ends]
    own = tokenizer.eos_token_id
    if request.adapters and own is not None and own not in ends:
        settings["eos_token_id"] = [own, *ends]
    (out / "generation_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
