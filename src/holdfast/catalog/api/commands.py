"""The command lines of TRL: `trl sft` takes the fields of several dataclasses, and what `accelerate launch` takes.

`trl any` is what some command of it takes: for a recipe that does not say which one it is for.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from holdfast.catalog.api.history import History, at, is_in
from holdfast.core.api import Parameter, Signature

PREFIX: Final = "trl "
ANY: Final = "any"
OWN: Final = frozenset({"config", "accelerate_config", "env"})
"""What TRL's parser takes itself."""
LAUNCHER: Final = frozenset(
    [
        "config_file",
        "quiet",
        "cpu",
        "multi_gpu",
        "tpu",
        "ipex",
        "mixed_precision",
        "num_processes",
        "num_machines",
        "num_cpu_threads_per_process",
        "enable_cpu_affinity",
        "dynamo_backend",
        "dynamo_mode",
        "dynamo_use_fullgraph",
        "dynamo_use_dynamic",
        "dynamo_use_regional_compilation",
        "use_deepspeed",
        "use_fsdp",
        "use_parallelism_config",
        "use_megatron_lm",
        "use_xpu",
        "gpu_ids",
        "same_network",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
        "tee",
        "log_dir",
        "role",
        "rdzv_backend",
        "rdzv_conf",
        "max_restarts",
        "monitor_interval",
        "module",
        "no_python",
        "debug",
        "deepspeed_config_file",
        "zero_stage",
        "offload_optimizer_device",
        "offload_param_device",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "zero3_init_flag",
        "zero3_save_16bit_model",
        "fsdp_version",
        "fsdp_offload_params",
        "fsdp_min_num_params",
        "fsdp_sharding_strategy",
        "fsdp_auto_wrap_policy",
        "fsdp_transformer_layer_cls_to_wrap",
        "fsdp_state_dict_type",
        "fsdp_activation_checkpointing",
        "fsdp_cpu_ram_efficient_loading",
        "fsdp_sync_module_states",
        "fsdp_reshard_after_forward",
        "fsdp_use_orig_params",
        "fsdp_backward_prefetch",
    ]
)
"""What TRL hands on to `accelerate launch`: the options of accelerate 1.15, with those that it dropped."""


def command_signature(
    path: str, history: History, index: int, signature: Callable[[str], Signature | None]
) -> Signature:
    """Return what a command takes, at the release in use.

    Args:
        path: `trl sft`.
        history: TRL's.
        index: The release.
        signature: Gives that of a dataclass.
    """
    classes = [signature(home) for home in dict.fromkeys(command_classes(path, history, index))]
    parameters = {name: each for found in classes if found for name, each in found.parameters.items()}
    handed_on = {name: Parameter(name=name, default=None) for name in sorted(OWN | LAUNCHER)}
    return Signature(
        path=path,
        home=path,
        kind="command",
        parameters={**handed_on, **parameters},
        positional=0,
        open=not classes or any(found is None or found.open for found in classes),
    )


def command_classes(path: str, history: History, index: int | None = None) -> Iterator[str]:
    """Yield the homes of a command's dataclasses: at one release, or of all."""
    for entry in _entries(path, history):
        if index is None:
            yield from (home for _, homes in history.stretches(entry["d"]) for home in homes)
        elif is_in(history.releases(entry["r"]), index):
            yield from at(entry["d"], index) or ()


def _entries(path: str, history: History) -> Iterator[dict[str, Any]]:
    name = path.removeprefix(PREFIX)
    heads = [f"x {path}"] if name != ANY else [f"x {PREFIX}{each}" for each in COMMANDS]
    yield from (dict(entry) for head in heads if (entry := history.entry(head)) is not None)


COMMANDS: Final = ("sft", "dpo", "grpo", "reward", "kto", "rloo", "distillation")
