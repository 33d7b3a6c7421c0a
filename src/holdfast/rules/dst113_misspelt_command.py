"""Misspelt command that starts nothing.

## What it does
Checks the programs, subcommands and modules that start a training against the existing ones: `accelerate lunch`,
`trl sftt`, `torchrunn`, `python -m accelerate.commands.lunch`. The rest of the command is checked as if it were spelt
correctly. Ignores names that do not nearly match a launcher: they may be your own programs.

## Why is this bad
The command ends at once: `invalid choice: 'lunch'`, `command not found` or `No module named …`. On a cluster, this
happens after the job has waited in the queue.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "launch.misspelt"


def check(job: Document) -> Iterator[Finding]:
    """Report each misspelt command."""
    listed = job.get(KEY, [])
    for index in range(len(listed) if isinstance(listed, list) else 0):
        word, meant = job.get(f"{KEY}.{index}.word", None), job.get(f"{KEY}.{index}.meant", None)
        yield Finding(f"{KEY}.{index}", f"`{word}` starts nothing: did you mean `{meant}`?")


COMMAND = (
    "accelerate launch -m trl.scripts.sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara\n"
)
TRL = COMMAND.replace("accelerate launch -m trl.scripts.sft", "trl sft")

RULE = Rule(
    code="DST113",
    name="misspelt-command",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "accelerate 1.15 and trl 1.16, tried: `invalid choice`, exit code 2; `python -m accelerate.commands.lunch`: No module named "
        "accelerate.commands.lunch."
    ),
    bad=(
        Case(command=COMMAND.replace("launch", "lunch"), at=f"{KEY}.0"),
        Case(command=COMMAND.replace("accelerate launch", "torchrunn"), at=f"{KEY}.0"),
        Case(command=COMMAND.replace("accelerate launch", "python -m accelerate.commands.lunch"), at=f"{KEY}.0"),
        Case(command=TRL.replace("sft", "sftt"), at=f"{KEY}.0"),
    ),
    good=(
        Case(command=COMMAND),
        Case(command=TRL),
        Case(command=COMMAND.replace("accelerate launch", "torchrun")),
        Case(command=COMMAND.replace("accelerate launch", "python -m accelerate.commands.launch")),
    ),
    kinds=PROGRAMS,
)
