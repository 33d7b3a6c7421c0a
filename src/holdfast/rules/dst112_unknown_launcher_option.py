"""Option that no release of the launcher has.

## What it does
Checks the options of `accelerate launch`, `torchrun`, `python -m torch.distributed.run` and `deepspeed` against those
that any release of the launcher takes. `torchrun` and `deepspeed` accept abbreviated options; `accelerate` does not.

## Why is this bad
The launcher ends before the script starts: `unrecognized arguments: --mixed_precison`. On a cluster, this happens
after the job has waited in the queue.

## Fix safety
There is no automatic fix: the option may belong to the script, and must then follow the script's name.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.launcher_options import OPTIONS
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "launch.unknown_options"


def check(job: Document) -> Iterator[Finding]:
    """Report each option that no release of the launcher has."""
    listed = job.get(KEY, [])
    for index in range(len(listed) if isinstance(listed, list) else 0):
        launcher, option = job.get(f"{KEY}.{index}.launcher", None), job.get(f"{KEY}.{index}.option", None)
        if not isinstance(launcher, str) or not isinstance(option, str) or launcher not in OPTIONS:
            continue
        meant = OPTIONS[launcher].meant(option)
        hint = f"did you mean `{meant}`?" if meant else "an option of the script stands after the script's name"
        yield Finding(f"{KEY}.{index}", f"`{launcher}` has no option `{option}`: {hint}")


COMMAND = "accelerate launch --mixed_precision bf16 -m trl.scripts.sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara\n"
TORCHRUN = COMMAND.replace("accelerate launch --mixed_precision bf16", "torchrun --nproc_per_node 2")

RULE = Rule(
    code="DST112",
    name="unknown-launcher-option",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "torch 2.13 and accelerate 1.15, tried: both end with `unrecognized arguments`; `torchrun --nproc_per_nod 2` starts two processes, and "
        "`accelerate launch --mixed_preci bf16` ends. The options of deepspeed's runner were read in all commits of its file."
    ),
    bad=(
        Case(command=COMMAND.replace("precision", "precison"), at=f"{KEY}.0"),
        Case(command=TORCHRUN.replace("per_node", "per_nodes"), at=f"{KEY}.0"),
        Case(command=COMMAND.replace("mixed_precision bf16", "learning_rate 1e-5"), at=f"{KEY}.0"),
    ),
    good=(
        Case(command=COMMAND),
        Case(command=COMMAND.replace("mixed_precision", "mixed-precision")),
        Case(command=TORCHRUN),
        Case(command=TORCHRUN.replace("per_node", "per")),
    ),
    kinds=PROGRAMS,
)
