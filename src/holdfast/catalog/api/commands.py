"""The command lines of TRL: `trl sft` takes the fields of several dataclasses, and what `accelerate launch` takes.

`trl any` is what some command of it takes: for a recipe that does not say which one it is for.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from holdfast.catalog.api.history import History, at, is_in
from holdfast.core.job.api import CallSignature, Parameter

PREFIX: Final = "trl "
ANY: Final = "any"
OWN: Final = frozenset({"config", "accelerate_config", "env"})
"""What TRL's parser takes itself."""
LAUNCHER: Final = frozenset(
    [
        "aws_access_key_id",
        "aws_secret_access_key",
        "config_file",
        "cpu",
        "debug",
        "deepspeed_config_file",
        "deepspeed_exclusion_filter",
        "deepspeed_hostfile",
        "deepspeed_inclusion_filter",
        "deepspeed_moe_layer_cls_names",
        "deepspeed_multinode_launcher",
        "downcast_bf16",
        "dynamo_backend",
        "dynamo_mode",
        "dynamo_use_dynamic",
        "dynamo_use_fullgraph",
        "dynamo_use_regional_compilation",
        "enable_cpu_affinity",
        "env",
        "fp8_amax_compute_algo",
        "fp8_amax_history_len",
        "fp8_backend",
        "fp8_enable_fsdp_float8_all_gather",
        "fp8_format",
        "fp8_interval",
        "fp8_margin",
        "fp8_opt_level",
        "fp8_override_linear_precision",
        "fp8_pad_inner_dim",
        "fp8_use_autocast_during_eval",
        "fsdp_activation_checkpointing",
        "fsdp_activation_checkpointing_offload",
        "fsdp_auto_wrap_policy",
        "fsdp_backward_prefetch",
        "fsdp_backward_prefetch_policy",
        "fsdp_cpu_ram_efficient_loading",
        "fsdp_forward_prefetch",
        "fsdp_min_num_params",
        "fsdp_offload_params",
        "fsdp_reshard_after_forward",
        "fsdp_sharding_strategy",
        "fsdp_state_dict_type",
        "fsdp_sync_module_states",
        "fsdp_transformer_layer_cls_to_wrap",
        "fsdp_use_orig_params",
        "fsdp_version",
        "gpu_ids",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "ipex",
        "log_dir",
        "machine_rank",
        "main_process_ip",
        "main_process_port",
        "main_training_function",
        "max_restarts",
        "megatron_lm_attention_backend",
        "megatron_lm_attention_dropout",
        "megatron_lm_attention_softmax_in_fp32",
        "megatron_lm_calculate_per_token_loss",
        "megatron_lm_context_parallel_size",
        "megatron_lm_decoder_last_pipeline_num_layers",
        "megatron_lm_eod_mask_loss",
        "megatron_lm_expert_model_parallel_size",
        "megatron_lm_expert_tensor_parallel_size",
        "megatron_lm_gradient_clipping",
        "megatron_lm_hidden_dropout",
        "megatron_lm_no_load_optim",
        "megatron_lm_no_save_optim",
        "megatron_lm_num_micro_batches",
        "megatron_lm_optimizer_cpu_offload",
        "megatron_lm_overlap_cpu_optimizer_d2h_h2d",
        "megatron_lm_pp_degree",
        "megatron_lm_recompute_activations",
        "megatron_lm_recompute_granularity",
        "megatron_lm_recompute_method",
        "megatron_lm_recompute_num_layers",
        "megatron_lm_sequence_parallelism",
        "megatron_lm_tp_degree",
        "megatron_lm_use_custom_fsdp",
        "megatron_lm_use_distributed_optimizer",
        "megatron_lm_use_precision_aware_optimizer",
        "megatron_lm_use_rotary_position_embeddings",
        "mixed_precision",
        "module",
        "monitor_interval",
        "mpirun_ccl",
        "mpirun_hostfile",
        "multi_gpu",
        "no_python",
        "no_tpu_cluster",
        "num_cpu_threads_per_process",
        "num_machines",
        "num_processes",
        "offload_optimizer_device",
        "offload_optimizer_nvme_path",
        "offload_param_device",
        "offload_param_nvme_path",
        "parallelism_config_cp_backend",
        "parallelism_config_cp_comm_strategy",
        "parallelism_config_cp_size",
        "parallelism_config_dp_replicate_size",
        "parallelism_config_dp_shard_size",
        "parallelism_config_sp_attn_implementation",
        "parallelism_config_sp_backend",
        "parallelism_config_sp_seq_length",
        "parallelism_config_sp_seq_length_is_variable",
        "parallelism_config_sp_size",
        "parallelism_config_tp_size",
        "quiet",
        "rdzv_backend",
        "rdzv_conf",
        "restart_tpuvm_pod_server",
        "role",
        "same_network",
        "tee",
        "tp_size",
        "tpu",
        "tpu_cluster",
        "tpu_use_sudo",
        "use_deepspeed",
        "use_fsdp",
        "use_megatron_lm",
        "use_parallelism_config",
        "use_tp",
        "use_xpu",
        "vm",
        "zero3_init_flag",
        "zero3_save_16bit_model",
        "zero_stage",
    ]
)
"""What TRL hands on to `accelerate launch`: its options, of all releases from accelerate 0.21 to 1.15."""
HANDED_ON: Final = OWN | LAUNCHER
"""What a command takes beside its dataclasses' fields."""


def command_signature(
    path: str, history: History, index: int, signature: Callable[[str], CallSignature | None]
) -> CallSignature:
    """Return the signature of a command at the release in use.

    Args:
        path: `trl sft`.
        history: TRL's.
        index: The release.
        signature: Gives that of a dataclass.
    """
    classes = [signature(home) for home in dict.fromkeys(command_classes(path, history, index))]
    parameters = {name: each for found in classes if found for name, each in found.parameters.items()}
    handed_on = {name: Parameter(name=name, default=None) for name in sorted(HANDED_ON)}
    return CallSignature(
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
