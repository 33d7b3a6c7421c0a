"""The keys of the file that `accelerate launch --config_file` reads: those of every release, so that one that is not here is none.

Source: `ClusterConfig` and `BaseConfig.process_config` of accelerate 0.21, 0.27, 0.30, 0.34, 1.0, 1.4, 1.8, 1.11 and 1.15, read in
their wheels; unknown keys, a missing `distributed_type` and an unknown one were tried with 1.15: ValueError.
"""

from typing import Final

KEYS: Final = frozenset(
    {
        "command_file",
        "commands",
        "compute_environment",
        "debug",
        "deepspeed_config",
        "distributed_type",
        "downcast_bf16",
    }
    | {"dynamo_backend", "dynamo_config", "enable_cpu_affinity", "fp16", "fp8_config", "fsdp_config", "gpu_ids"}
    | {"ipex_config", "machine_rank", "main_process_ip", "main_process_port", "main_training_function"}
    | {"megatron_lm_config", "mixed_precision", "mpirun_config", "num_machines", "num_processes", "parallelism_config"}
    | {"rdzv_backend", "same_network", "tp_config", "tpu_env", "tpu_name", "tpu_use_cluster", "tpu_use_sudo", "tpu_vm"}
    | {"tpu_zone", "use_cpu"}
)
DISTRIBUTED: Final = frozenset(
    {"NO", "DEEPSPEED", "FSDP", "MEGATRON_LM", "MULTI_CPU", "MULTI_GPU", "MULTI_HPU", "MULTI_MLU", "MULTI_MUSA"}
    | {"MULTI_NEURON", "MULTI_NPU", "MULTI_SDAA", "MULTI_XPU", "TP", "TPU", "XLA"}
)
"""The kinds of distribution."""
HERE: Final = "LOCAL_MACHINE"
"""The environment whose files have these keys; those of SageMaker have others."""
