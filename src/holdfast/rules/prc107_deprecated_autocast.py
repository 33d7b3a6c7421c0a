"""Mixed precision by the deprecated `torch.cuda.amp`.

## What it does
Checks for calls of `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler`, and of their counterparts in
`torch.cpu.amp`.

## Why is this bad
They do the same as those in `torch.amp`, and give a FutureWarning at every use since torch 2.4. A release that
removes them breaks the script. With a trainer they are not needed at all: `bf16=True` or `fp16=True` in its config
does the same.

## Fix safety
There is no automatic fix: `torch.amp.autocast("cuda", …)` and `torch.amp.GradScaler("cuda", …)` take the device as
their first argument.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

GONE = ("torch.cuda.amp", "torch.cpu.amp")
NAMES = ("autocast", "GradScaler")


def check(job: Document) -> Iterator[Finding]:
    """Report each call of `torch.cuda.amp`."""
    for call in job.calls:
        module = next((module for module in GONE if call.path.startswith(f"{module}.")), None)
        if module is None or call.name not in NAMES or call.guard.because:
            continue
        device = module.split(".")[1]
        instead = f'torch.amp.{call.name}("{device}", …)'
        yield Finding(call.key, f"`{call.label}` is deprecated since torch 2.4: use `{instead}`", place=call.name_place)


SCRIPT = """
import torch

with torch.amp.autocast("cuda", dtype=torch.bfloat16):
    pass
"""

RULE = Rule(
    code="PRC107",
    name="deprecated-autocast",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "Tried with torch 2.13: FutureWarning from `torch.cuda.amp.GradScaler()`, which names "
        "`torch.amp.GradScaler('cuda')` instead."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace('amp.autocast("cuda", ', "cuda.amp.autocast("), at="calls.0"),
        Case(script="\nfrom torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n", at="calls.0"),
    ),
    good=(Case(script=SCRIPT), Case(script='\nimport torch\n\nscaler = torch.amp.GradScaler("cuda")\n')),
)
