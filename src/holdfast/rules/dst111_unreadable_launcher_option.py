"""Launcher option with a value that the launcher cannot parse.

## What it does
Checks the options of `accelerate launch`, `torchrun`, `deepspeed` and `trl`, and the keys of accelerate's config
file, that set the number of processes and machines and the precision. Reports text where a number is expected, and a
precision that accelerate does not know.

## Why is this bad
The launcher ends before the script starts: `invalid int value: 'two'`, `invalid choice: 'bf17'`. On a cluster, this
happens after the job has waited in the queue.

## Fix safety
There is no automatic fix: the value may come from the launcher's config file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.nearest import nearest

MIXED_PRECISION: Final = "where.mixed_precision"
PRECISIONS: Final = ("no", "fp16", "bf16", "fp8")
OF_TORCH: Final[Mapping[str, tuple[str, re.Pattern[str], str]]] = {
    "where.processes": (
        "--nproc_per_node",
        re.compile(r"auto|cpu|gpu|xpu|npu|hpu|mlu|musa|[0-9]+"),
        "a number, `gpu`, `cpu` or `auto`",
    ),
    "where.nodes": ("--nnodes", re.compile(r"[0-9]+(:[0-9]+)?"), "a number, or two of them such as `1:4`"),
}
WHOLE: Final = (re.compile(r"\s*[+-]?[0-9]+\s*"), "a whole number")
OPTIONS: Final[Mapping[str, Mapping[str, tuple[str, re.Pattern[str], str]]]] = {
    "torchrun": OF_TORCH,
    "python -m torch.distributed.run": OF_TORCH,
    "python -m torch.distributed.launch": OF_TORCH,
    "deepspeed": {"where.processes": ("--num_gpus", *WHOLE), "where.nodes": ("--num_nodes", *WHOLE)},
    "accelerate": {
        "where.world_size": ("--num_processes", *WHOLE),
        "where.nodes": ("--num_machines", *WHOLE),
        "where.zero_stage": ("--zero_stage", *WHOLE),
    },
}
"""For each launcher and key: the option, the pattern of its values, and a description of these."""


def check(job: Document) -> Iterator[Finding]:
    """Report each value that the launcher cannot parse."""
    launcher = _launcher(job)
    section = job.get("where", None)
    where: Mapping[str, object] = section if isinstance(section, Mapping) else {}
    for key, (option, taken, words) in OPTIONS.get(launcher, {}).items():
        value = where.get(key.removeprefix("where."))
        if isinstance(value, str) and not taken.fullmatch(value):
            yield Finding(key, f"`{option}` is {value!r}; {launcher} takes {words}")
    if launcher == "accelerate":
        yield from _unknown_precision(where.get("mixed_precision"))


def _unknown_precision(precision: object) -> Iterator[Finding]:
    if isinstance(precision, str) and precision.lower() not in PRECISIONS:
        meant = nearest(precision.lower(), PRECISIONS)
        hint = f"did you mean `{meant}`?" if meant else f"it is one of {', '.join(PRECISIONS)}"
        yield Finding(MIXED_PRECISION, f"`{precision}` is not a `mixed_precision` of accelerate: {hint}")


def _launcher(job: Document) -> str:
    """Return the launcher that is nearest to the program; TRL's commands are started by accelerate."""
    if any(call.path.startswith("trl ") for call in job.calls):
        return "accelerate"
    by = job.get("launch.by", [])
    named = [str(each) for each in by if str(each) != "python"] if isinstance(by, list) else []
    last = named[-1] if named else ""
    return "accelerate" if "accelerate" in last else last


TRL = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --num_processes 4\n"

RULE = Rule(
    code="DST111",
    name="unreadable-launcher-option",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "accelerate 1.15 and torch 2.13, each option tried: argparse ends `accelerate launch` with `invalid int value` and `invalid choice`, a "
        "file with `mixed_precision: bf17` with `Unknown mixed_precision mode`, and torchrun with `Unsupported nproc_per_node value`. deepspeed's runner was read."
    ),
    bad=(Case(command=TRL.replace(" 4", " four"), at="where.world_size"),),
    good=(
        Case(command=TRL),
        Case(command=TRL.replace("num_processes 4", "mixed_precision fp8")),
        Case(command=TRL.replace(" 4", ' "$GPUS"')),
    ),
    kinds=PROGRAMS,
)
