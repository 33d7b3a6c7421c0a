"""The model of a step: the real class from its configuration, with adapters, few bits and checkpoints, and no weights."""

from collections.abc import Mapping
from typing import Any

import torch
import transformers
from torch import nn

from . import kernels
from .device import FLASH, HALF, patched, register_flash
from .request import TraceRequest

LAYERED = ("layer_types", "mlp_layer_types", "no_rope_layers")
"""Settings that have a value for each layer."""
HEADS = ("lm_head", "embed_out", "score")


class UntraceableError(Exception):
    """Why a step cannot be traced, in words."""


def make_config(request: TraceRequest) -> Any:
    """Return the configuration, of as many layers as are requested.

    Raises:
        UntraceableError: transformers has no class for it, or its weights are quantized.
    """
    fields = dict(request.config)
    if fields.get("auto_map"):
        raise UntraceableError("its code is its own, and would have to be run")
    method = (fields.pop("quantization_config", None) or {}).get("quant_method")
    if method not in {None, "mxfp4"}:
        raise UntraceableError(f"kernels for weights quantized with `{method}` do not run on fake tensors")
    kind = fields.pop("model_type", None)
    try:
        config = transformers.AutoConfig.for_model(kind, **_of_depth(fields, request.layers))
    except (KeyError, ValueError):
        raise UntraceableError(f"the installed transformers has no class for `{kind}`") from None
    config.use_cache = False
    return config


def _of_depth(fields: Mapping[str, Any], layers: int) -> dict[str, Any]:
    """Return the fields for some layers, the first ones."""
    if isinstance(fields.get("text_config"), Mapping):
        return {**fields, "text_config": _of_depth(fields["text_config"], layers)}
    if not layers:
        return dict(fields)
    cut = {name: fields[name][:layers] for name in LAYERED if isinstance(fields.get(name), list)}
    return {**fields, **cut, "num_hidden_layers": layers}


def build_model(request: TraceRequest) -> Any:
    """Return the model in the dtype that it is loaded in."""
    config = make_config(request)
    register_flash()
    settings = {
        "dtype": getattr(torch, request.dtype),
        "attn_implementation": "eager" if request.attention == "eager" else "sdpa",
    }
    family = _family(config, request)
    try:
        with patched({(transformers.PreTrainedModel, "initialize_weights"): lambda *_, **__: None}):
            model = family.from_config(config, **settings)  # drawing weights may depend on data, of which there is none
    except ValueError as error:
        raise UntraceableError(str(error).splitlines()[0]) from error
    if request.attention == "flash":
        _attend_by_flash(model)
    kernels.fuse(model, request.fused)
    return model.train()


def _family(config: Any, request: TraceRequest) -> Any:
    """Return the class that makes a model; a reward model's configuration gets its one label."""
    if request.method == "reward":
        config.num_labels = 1
        config.pad_token_id = config.pad_token_id or 0
        return transformers.AutoModelForSequenceClassification
    if "text_config" in request.config:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def _attend_by_flash(model: Any) -> None:
    for part in model.modules():
        if hasattr(part, "config") and hasattr(part.config, "_attn_implementation"):
            part.config._attn_implementation = FLASH


def add_adapter(model: Any, request: TraceRequest) -> Any:
    """Return the model with its LoRA adapter, as peft adds it."""
    from peft import LoraConfig, get_peft_model

    adapter = request.adapter
    assert adapter is not None  # noqa: S101 - the caller asked
    settings = LoraConfig(
        r=adapter.rank,
        target_modules=list(adapter.targets),
        lora_dropout=adapter.dropout,
        task_type="SEQ_CLS" if request.method == "reward" else "CAUSAL_LM",
    )
    # On fake tensors nothing moves between devices, and parameters cannot be swapped.
    with patched({(nn.Module, "to"): lambda module, *_, **__: module}):
        model = get_peft_model(model, settings)
    dtype = getattr(torch, adapter.dtype)
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dtype != dtype:
            parameter.data = parameter.data.to(dtype)
    return model


def quantize(model: Any, request: TraceRequest) -> None:
    """Replace linear modules with ones that hold 4 bits; norms may turn to float32."""
    quantization = request.quantization
    assert quantization is not None  # noqa: S101 - the caller asked
    compute = getattr(torch, request.autocast or request.dtype)
    for name, module in list(model.named_modules()):
        if type(module) is nn.Linear and "lora_" not in name and name.rpartition(".")[2] not in HEADS:
            parent, _, own = name.rpartition(".")
            setattr(
                model.get_submodule(parent), own, kernels.FourBitLinear(module, compute, nested=quantization.nested)
            )
    kernels.clone_outputs(model)
    if quantization.float32_norms:
        _widen_norms(model)


def _widen_norms(model: Any) -> None:
    for name, parameter in model.named_parameters():
        if "norm" in name and parameter.dtype in HALF:
            parameter.data = parameter.data.float()


def make_model(request: TraceRequest) -> Any:
    """Return the model that is trained, ready for a step."""
    model = build_model(request)
    if request.head == "fused":
        outputs = ("log_probs", "entropy", "is_top1") if request.method == "sft" else ("log_probs", "entropy")
        _fuse_head(model, outputs=outputs)
    if request.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": request.reentrant})
    if request.adapter:
        model = add_adapter(model, request)
        if request.checkpointing:
            model.enable_input_require_grads()
    if request.quantization:
        quantize(model, request)
    return model


def make_reference(request: TraceRequest) -> Any:
    """Return the frozen copy."""
    model = build_model(request).eval().requires_grad_(requires_grad=False)
    if request.head == "fused":
        _fuse_head(model)
    return model


def _fuse_head(model: Any, **settings: Any) -> None:
    from trl.trainer.utils import add_fused_lm_head  # other steps need no TRL

    add_fused_lm_head(model, **settings)


def decoder_of(model: Any) -> Any:
    """Return the part of a model that has the layers.

    Raises:
        UntraceableError: There is none that is known.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    found = [
        part
        for part in base.modules()
        if isinstance(getattr(part, "layers", None), nn.ModuleList) and hasattr(part, "embed_tokens")
    ]
    if not found:
        raise UntraceableError(f"where {type(base).__name__} has its layers is not known")
    return found[0]
