"""Script that reads variables which only a launcher sets.

## What it does
Checks for `os.environ["RANK"]`, `LOCAL_RANK` and `WORLD_SIZE` that are read without a default, for
`init_process_group` without a rank, and for the corresponding variables of srun and mpirun.

## Why is this bad
If `python` or `uv run` starts the script, it ends with `KeyError: 'RANK'`. `torchrun` sets these variables;
`accelerate launch` does so with several processes. On Hugging Face Jobs, `hf jobs uv run` starts one process, which
has none of them.

## Fix safety
There is no automatic fix. Start the script with its launcher, or read the variable with a default:
`os.environ.get("RANK", "0")`.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.launchers import wanted_launcher
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.run.backends import HF_JOBS, backend_of
from holdfast.core.text.places import Place

KEY = "environment.variables"
LAUNCHED = ("where.processes", "where.world_size", "where.nodes")
COMMANDS = {"torchrun": "torchrun --nproc_per_node=gpu", "srun": "srun python", "mpirun": "mpirun -n 1 python"}


def check(job: Document) -> Iterator[Finding]:
    """Report variables that only a launcher sets, unless one starts the script."""
    if any(job.get(key, None) is not None for key in LAUNCHED):
        return
    launcher = wanted_launcher(job.text)
    if launcher is None:
        return
    remote = backend_of(job) is HF_JOBS
    reads = f"the script reads `{launcher.variable}`, which {launcher.name} sets"
    says = "`hf jobs uv run` starts it without" if remote else f"start it with `{COMMANDS[launcher.name]} {job.path}`"
    yield Finding(
        KEY,
        f"{reads}: {says}",
        place=Place(job.path, launcher.line, 1, launcher.line, 1),
        severity=Severity.ERROR if remote else Severity.INFO,
    )


SCRIPT = """import os

from trl import SFTConfig, SFTTrainer

local_rank = int(os.environ["LOCAL_RANK"])
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""

RULE = Rule(
    code="DST110",
    name="absent-launcher",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source="Tried with torch 2.13: KeyError and ValueError without a launcher, `environment variable RANK expected, but not set`.",
    bad=(Case(script=SCRIPT, at=KEY),),
    good=(
        Case(script=SCRIPT.replace('os.environ["LOCAL_RANK"]', 'os.environ.get("LOCAL_RANK", "0")')),
        Case(script=SCRIPT.replace("int(", 'int("LOCAL_RANK" in os.environ and ')),
    ),
    kinds=PROGRAMS,
)
