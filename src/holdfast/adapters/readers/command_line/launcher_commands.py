"""The programs that start a training program, with the options of each that say something of the job.

Source: the argument parsers of torch 2.13 (`torch.distributed.run`), accelerate 1.15 (`accelerate launch`),
huggingface_hub 2.4 (`hf jobs`), uv 0.13 (`uv run --help`), deepspeed's runner, and Slurm's srun.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.core.run.backends import BACKEND_KEY, HF_JOBS

PASSED_OVER: Final = "passed over"
"""For a word that stands between a launcher's options and the program, and says nothing of the job."""


@dataclass(frozen=True, slots=True)
class LauncherCommand:
    """A program that starts another.

    Attributes:
        words: What it is called by, such as `accelerate launch`.
        flags: Its options that take no value, spelled with hyphens.
        keys: The keys of a Document that its options with values say something of; `+` marks a list.
        constant: What it says by itself.
        takes: The key of the word that stands between its options and the program, if there is one.
        switches: What its options without a value say: a key and its value.
    """

    words: tuple[str, ...]
    flags: frozenset[str] = frozenset()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    constant: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes: str = ""
    switches: Mapping[str, tuple[str, Any]] = field(default_factory=dict[str, tuple[str, Any]])

    @property
    def name(self) -> str:
        """What it is called by, as one text."""
        return " ".join(self.words)


TORCHRUN_KEYS: Final = {"--nproc-per-node": "where.processes", "--nnodes": "where.nodes"}
TORCHRUN_FLAGS: Final = frozenset({"--standalone", "--no-python", "--run-path", "--virtual-local-rank"})
TORCHRUN_SAYS: Final = {"where.processes": 1, "where.nodes": 1}
"""What torchrun does by itself: one process on one machine."""
UV_FLAGS: Final = frozenset(
    [
        "--no-project",
        "--isolated",
        "--active",
        "--no-sync",
        "--locked",
        "--frozen",
        "--script",
        "-s",
        "--quiet",
        "-q",
        "--verbose",
        "-v",
        "--offline",
        "--all-extras",
        "--dev",
        "--no-dev",
        "--no-cache",
        "-n",
        "--refresh",
        "-U",
        "--upgrade",
        "--exact",
        "--no-editable",
        "--no-env-file",
        "--managed-python",
        "--no-managed-python",
        "--no-config",
        "--all-groups",
        "--all-packages",
        "--compile-bytecode",
        "--gui-script",
        "--no-binary",
        "--no-build",
        "--no-build-isolation",
        "--no-default-groups",
        "--no-index",
        "--no-progress",
        "--no-python-downloads",
        "--no-require-build-hashes",
        "--no-sources",
        "--only-dev",
        "--reinstall",
        "--require-build-hashes",
        "--system-certs",
    ]
)
REQUIREMENTS: Final = "environment.requirements+"
UV_KEYS: Final = {
    **dict.fromkeys(("--with", "-w"), REQUIREMENTS),
    **dict.fromkeys(("--python", "-p"), "environment.python"),
    "--exclude-newer": "launch.before",
    "--with-requirements": "launch.unread",
}
JOB_KEYS: Final = {
    "--flavor": "where.hardware",
    "--timeout": "where.timeout",
    "--secrets": "environment.secrets+",
    "-s": "environment.secrets+",
    "--env": "environment.variables+",
    "-e": "environment.variables+",
    "--namespace": "where.options.namespace",
    "--image": "where.options.image",
}
HUB_FLAGS: Final = frozenset({"--detach", "-d", "--dry-run", "--json", "--quiet", "-q"})
ON_HUB: Final = {BACKEND_KEY: HF_JOBS.name}
ACCELERATE: Final = (
    ("accelerate", "launch"),
    ("accelerate-launch",),
    ("python", "-m", "accelerate.commands.launch"),
    ("python", "-m", "accelerate", "launch"),
)
ACCELERATE_FLAGS: Final = frozenset(
    {"--quiet", "-q", "--cpu", "--multi-gpu", "--tpu", "--ipex", "--use-xpu", "--use-deepspeed", "--use-fsdp"}
    | {"--dynamo-use-fullgraph", "--dynamo-use-dynamic", "--dynamo-use-regional-compilation", "--same-network"}
    | {"--use-parallelism-config", "--use-megatron-lm", "--no-python", "--tpu-cluster", "--no-tpu-cluster"}
    | {"--tpu-use-sudo", "--downcast-bf16", "--fp8-use-autocast-during-eval", "--debug", "--enable-cpu-affinity"}
    | {"--use-tp"}
)
ACCELERATE_KEYS: Final = {
    "--num-processes": "where.world_size",
    "--num-machines": "where.nodes",
    "--mixed-precision": "where.mixed_precision",
    "--config-file": "where.accelerate_config",
    "--zero-stage": "where.zero_stage",
    "--fsdp-sharding-strategy": "where.fsdp_sharding",
    "--fsdp-reshard-after-forward": "where.fsdp_sharding",
    **dict.fromkeys(("--fsdp-offload-params", "--offload-optimizer-device", "--offload-param-device"), "where.offload"),
}
ACCELERATE_SWITCHES: Final[Mapping[str, tuple[str, Any]]] = {
    "--multi-gpu": ("where.distributed_type", "MULTI_GPU"),
    "--use-deepspeed": ("where.distributed_type", "DEEPSPEED"),
    "--use-fsdp": ("where.distributed_type", "FSDP"),
}
LAUNCHERS: Final = (
    LauncherCommand(("torchrun",), TORCHRUN_FLAGS, TORCHRUN_KEYS, TORCHRUN_SAYS),
    LauncherCommand(("python", "-m", "torch.distributed.run"), TORCHRUN_FLAGS, TORCHRUN_KEYS, TORCHRUN_SAYS),
    LauncherCommand(
        ("python", "-m", "torch.distributed.launch"), TORCHRUN_FLAGS | {"--use-env"}, TORCHRUN_KEYS, TORCHRUN_SAYS
    ),
    *(LauncherCommand(words, ACCELERATE_FLAGS, ACCELERATE_KEYS, switches=ACCELERATE_SWITCHES) for words in ACCELERATE),
    LauncherCommand(
        ("deepspeed",),
        frozenset({"--no-ssh", "--no-ssh-check", "--module", "--no-python", "--no-local-rank", "--force-multi"})
        | {"--save-pid", "--elastic-training", "--bind-cores-to-rank", "--quiet", "-q"},
        {"--num-gpus": "where.processes", "--num-nodes": "where.nodes"},
    ),
    LauncherCommand(
        ("srun",), frozenset({"--exclusive", "--label", "-l", "--unbuffered", "-u", "--overlap", "-v", "--verbose"})
    ),
    LauncherCommand(("uv", "run"), UV_FLAGS, UV_KEYS),
    LauncherCommand(("hf", "jobs", "uv", "run"), HUB_FLAGS, {**JOB_KEYS, **UV_KEYS}, ON_HUB),
    LauncherCommand(("hf", "jobs", "run"), HUB_FLAGS, JOB_KEYS, ON_HUB, "where.options.image"),
    LauncherCommand(("uvx",), UV_FLAGS, {**UV_KEYS, "--from": REQUIREMENTS}),
    LauncherCommand(("uv", "tool", "run"), UV_FLAGS, {**UV_KEYS, "--from": REQUIREMENTS}),
    *(
        LauncherCommand((word, "run"), frozenset({"--no-capture-output", "--live-stream"}))
        for word in ("conda", "mamba", "micromamba")
    ),
    LauncherCommand(
        ("timeout",), frozenset({"--foreground", "--preserve-status", "-v", "--verbose"}), takes=PASSED_OVER
    ),
    LauncherCommand(("numactl",)),
    LauncherCommand(("env",), frozenset({"-i", "--ignore-environment"})),
    *(
        LauncherCommand((word,), frozenset({"-E", "-H", "-n", "-p", "-v", "-w", "-f"}))
        for word in ("nohup", "time", "exec", "sudo", "command", "setsid")
    ),
    *(LauncherCommand((word,)) for word in ("if", "then", "else", "elif", "while", "until", "do", "!", "{")),
    *(LauncherCommand((word, "run")) for word in ("poetry", "pipenv", "pdm", "hatch", "rye")),
)
MOST_WORDS: Final = max(len(each.words) for each in LAUNCHERS)
