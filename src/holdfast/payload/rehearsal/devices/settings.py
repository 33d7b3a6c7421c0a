"""Settings that need a GPU, or what only a GPU has use of: accepted, checked as far as can be, and replaced by the plain way.

A package that the job lacks, an optimizer that does not exist, a configuration that cannot be read fail as they do in reality:
such settings are left to the library. bf16 runs as it is, fp16 as `halves` says, both with autocast on the processor, so that
mixed types meet as they will.
"""

import importlib
import json
import os
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..packages import is_installed
from ..wrapping import when_imported, wrap
from .halves import Float16State

SHOWN_BY = "it needs a GPU; `holdfast rehearse --gpu` on a machine with one shows it"
ASSUMED = "a GPU is assumed, and this machine has none; `holdfast rehearse … --set where.backend=local` rehearses the job for this machine"
PLAIN_OPTIMIZER = "adamw_torch"
OPTIMIZERS = (
    ("bnb", "bitsandbytes"),
    ("8bit", "bitsandbytes"),
    ("paged", "bitsandbytes"),
    ("apex", "apex"),
    ("torchao", "torchao"),
)
"""What names of optimizers hold, and the package that has them."""
SWITCHES = (
    ("tf32", None, None),
    ("torch_compile", None, False),
    ("torch_compile_backend", None, None),
    ("torch_compile_mode", None, None),
    ("use_liger_kernel", "liger_kernel", False),
    ("use_vllm", "vllm", False),
    ("activation_offloading", None, False),
    ("ddp_backend", None, None),
    ("vllm_importance_sampling_correction", "vllm", False),
)
"""Settings, the package that they need, and what they become where they are set."""


def install(events: EventWriter, halves: Float16State) -> None:
    """Have settings of a GPU pass."""
    when_imported("transformers.training_args", lambda module: _take_over(module, events, halves))
    when_imported("accelerate.accelerator", lambda module: _take_over_accelerator(module, events, halves))


def _take_over(module: Any, events: EventWriter, halves: Float16State) -> None:
    if hasattr(module, "is_torch_bf16_gpu_available"):
        wrap(module, "is_torch_bf16_gpu_available", lambda *_, **__: True)
    wrap(
        module.TrainingArguments,
        "__post_init__",
        lambda original, this: original(this) if replace(this, events, halves) else None,
    )


def _take_over_accelerator(module: Any, events: EventWriter, halves: Float16State) -> None:
    def make(original: Any, this: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("mixed_precision") == "fp16" and not kwargs.get("cpu"):
            kwargs["mixed_precision"] = "bf16"
            halves.ask(sharded=any(kwargs.get(f"{each}_plugin") for each in ("deepspeed", "fsdp")))
            events.not_rehearsed("fp16", SHOWN_BY)
        original(this, *args, **kwargs)

    wrap(module.Accelerator, "__init__", make)


def replace(this: Any, events: EventWriter, halves: Float16State) -> bool:
    """Replace settings of a trainer's arguments that this machine has no use of, before they are validated; return True."""
    if getattr(this, "use_cpu", False) or getattr(this, "no_cuda", False):
        return True
    for name, package, plain in SWITCHES:
        if getattr(this, name, None) and (package is None or is_installed(package)):
            _set(this, name, plain, events)
    _replace_precision(this, events, halves)
    _replace_optimizer(this, events)
    _replace_sharding(this, events)
    return True


def _replace_precision(this: Any, events: EventWriter, halves: Float16State) -> None:
    """Let bf16 pass, and play fp16 in it."""
    half, brain = getattr(this, "fp16", False), getattr(this, "bf16", False)
    if half and brain:
        return  # which is refused
    if brain:
        events.not_rehearsed("bf16 without a GPU", ASSUMED)
    if half:
        halves.ask(sharded=any(getattr(this, each, None) for each in ("deepspeed", "fsdp")))
    for suffix in ("", "_full_eval"):
        if getattr(this, f"fp16{suffix}", False):
            _set(this, f"fp16{suffix}", plain=False, events=events)
            object.__setattr__(this, f"bf16{suffix}", True)


def _replace_optimizer(this: Any, events: EventWriter) -> None:
    name = str(getattr(this.optim, "value", this.optim))
    known = {each.value for each in _optimizers()}
    package = next((package for part, package in OPTIMIZERS if part in name), None)
    if package and name in known and is_installed(package):
        _set(this, "optim", PLAIN_OPTIMIZER, events)


def _optimizers() -> Any:
    return importlib.import_module("transformers.training_args").OptimizerNames


def _replace_sharding(this: Any, events: EventWriter) -> None:
    """Read configurations of DeepSpeed and FSDP, then do without."""
    if getattr(this, "deepspeed", None) and is_installed("deepspeed"):
        accelerate = importlib.import_module("accelerate.utils.deepspeed")
        accelerate.HfDeepSpeedConfig(this.deepspeed)  # raises where the file is missing or holds no JSON
        _set(this, "deepspeed", None, events)
    if getattr(this, "fsdp", None):
        config = this.fsdp_config
        if isinstance(config, str | os.PathLike):
            json.loads(Path(config).read_text(encoding="utf-8"))
        _set(this, "fsdp", type(this.fsdp)() if isinstance(this.fsdp, str | list) else None, events)
        object.__setattr__(this, "fsdp_config", None)


def _set(this: Any, name: str, plain: Any, events: EventWriter) -> None:
    asked = getattr(this, name)
    events.fact("replaced", setting=name, asked=str(getattr(asked, "value", asked)), given=plain)
    events.not_rehearsed(f"{name}={getattr(asked, 'value', asked)!r}", SHOWN_BY)
    object.__setattr__(this, name, plain)
