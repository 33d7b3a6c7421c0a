"""DDP search for unused parameters together with reentrant checkpointing.

## What it does
Checks for `ddp_find_unused_parameters=True` together with `gradient_checkpointing_kwargs={"use_reentrant": True}`.

## Why is this bad
In a run of several processes, the first backward pass raises "Expected to mark a variable ready only once": reentrant
checkpointing computes parts of the model again, and DDP has already marked their parameters. A run of one process
does not fail.

## Fix safety
The fix is safe: checkpointing without reentrance computes the same.
"""

from collections.abc import Iterator, Mapping

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KWARGS, UNUSED = "train.gradient_checkpointing_kwargs", "train.ddp_find_unused_parameters"


def check(job: Document) -> Iterator[Finding]:
    """Report a search for unused parameters together with reentrant checkpointing."""
    settings = job.get(KWARGS, None)
    reentrant = isinstance(settings, Mapping) and settings.get("use_reentrant") is True
    if not reentrant or job.get(UNUSED, None) is not True or not _is_on(job):
        return
    fix = Fix("checkpoint without reentrance", (Set(KWARGS, {**settings, "use_reentrant": False}),))
    yield Finding(KWARGS, "reentrant checkpointing fails with DDP and `find_unused_parameters`", fix)


def _is_on(job: Document) -> bool:
    """True if gradient checkpointing is on, as it is by default in TRL's configs."""
    checkpointing = job.get("train.gradient_checkpointing", None)
    train = job.call("train")
    return checkpointing is True or (checkpointing is None and train is not None and train.package == "trl")


SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},
    ddp_find_unused_parameters=True,
)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
AGAIN = SCRIPT.replace('"use_reentrant": False', '"use_reentrant": True')

RULE = Rule(
    code="DST107",
    name="unused-parameters-with-reentrance",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and torch 2.13: two processes on a CPU (torchrun, gloo), a tiny "
        "model, with and without LoRA: RuntimeError for these two together; each alone trains. One process trains "
        "with both."
    ),
    kinds=ANY_KIND,
    bad=(Case(script=AGAIN, at=KWARGS, fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=AGAIN.replace("parameters=True", "parameters=False")),
        Case(script=AGAIN.replace("checkpointing=True", "checkpointing=False")),
    ),
)
