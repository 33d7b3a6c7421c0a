"""The options of launchers: those of every release, so that one that is not here is none.

Source: `get_args_parser` of torch 2.13 and the options of the older `torch.distributed.launch`; `launch_command_parser` of
accelerate 0.21 to 1.15; `deepspeed/launcher/runner.py` in the history of DeepSpeed's repository up to 0.19. Unknown options
and options that are cut short were tried with torch 2.13 and accelerate 1.15.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.api.commands import LAUNCHER
from holdfast.core.text.nearest import nearest, plays_same_role

NEAR: Final = 0.7
"""How alike two names are, from 0 to 1, of which one may be meant for the other."""


@dataclass(frozen=True, slots=True)
class LauncherOptions:
    """The long options of one launcher.

    Attributes:
        names: Their names, spelled with underscores.
        abbreviates: Whether the beginning of one option stands for it.
    """

    names: frozenset[str]
    abbreviates: bool

    def takes(self, option: str) -> bool:
        """True if the launcher takes an option; one that is not spelled with two hyphens is not judged.

        >>> OPTIONS["torchrun"].takes("--nproc-per-nod"), OPTIONS["accelerate launch"].takes("--mixed_precison")
        (True, False)
        """
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name in self.names:
            return True
        return self.abbreviates and any(each.startswith(name) for each in self.names)

    def meant(self, option: str) -> str | None:
        """Return the option that was meant by one that there is not; None if none is near.

        >>> OPTIONS["accelerate launch"].meant("--mixed-precison")
        '--mixed_precision'
        """
        name = option.removeprefix("--").replace("-", "_")
        alike = tuple(sorted(each for each in self.names if plays_same_role(name, each)))
        found = nearest(name, alike, cutoff=NEAR)
        return f"--{found}" if found else None


TORCH: Final = frozenset(
    {"nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "standalone", "max_restarts"}
    | {"monitor_interval", "start_method", "event_log_handler", "role", "module", "no_python", "run_path", "log_dir"}
    | {"redirects", "tee", "local_ranks_filter", "duplicate_stdout_filters", "duplicate_stderr_filters", "node_rank"}
    | {"master_addr", "master_port", "local_addr", "logs_specs", "numa_binding", "signals_to_handle"}
    | {"shutdown_timeout", "virtual_local_rank", "help"}
)
DEEPSPEED: Final = frozenset(
    {"hostfile", "include", "exclude", "num_nodes", "min_elastic_nodes", "max_elastic_nodes", "num_gpus"}
    | {"num_accelerators", "master_port", "master_addr", "node_rank", "launcher", "launcher_args", "module"}
    | {"no_python", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid", "enable_each_rank_log"}
    | {"autotuning", "elastic_training", "bind_cores_to_rank", "bind_core_list", "ssh_port", "venv_script"}
    | {"log_level", "quiet", "help"}
)
OF_TORCH: Final = LauncherOptions(TORCH, abbreviates=True)
OF_ACCELERATE: Final = LauncherOptions(LAUNCHER | {"help"}, abbreviates=False)
OPTIONS: Final[Mapping[str, LauncherOptions]] = {
    "torchrun": OF_TORCH,
    "python -m torch.distributed.run": OF_TORCH,
    "python -m torch.distributed.launch": LauncherOptions(TORCH | {"use_env", "logdir"}, abbreviates=True),
    "accelerate launch": OF_ACCELERATE,
    "accelerate-launch": OF_ACCELERATE,
    "python -m accelerate launch": OF_ACCELERATE,
    "python -m accelerate.commands.launch": OF_ACCELERATE,
    "deepspeed": LauncherOptions(DEEPSPEED, abbreviates=True),
}
"""By the words that start a launcher."""
