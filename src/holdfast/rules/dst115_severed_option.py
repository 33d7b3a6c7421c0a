"""Option at the beginning of a line, which the shell runs as a command.

## What it does
Checks the line after a training command. If it begins with an option, such as `--bf16`, the line before does not
continue: it lacks the backslash at its end, a blank follows the backslash, or a comment stands between the two lines.

## Why is this bad
The shell starts the training without this option and those after it. When the training ends, the shell tries to run a
program of that name: `--bf16: command not found`, exit code 127.

## Fix safety
There is no automatic fix: end the previous line with a backslash, and put nothing after it.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "launch.severed"


def check(job: Document) -> Iterator[Finding]:
    """Report each option that the shell runs as a command."""
    listed = job.get(KEY, [])
    for index in range(len(listed) if isinstance(listed, list) else 0):
        option = job.get(f"{KEY}.{index}", None)
        message = f"the shell runs `{option}` as a command: the line before it does not end with a backslash"
        yield Finding(f"{KEY}.{index}", message)


COMMAND = r"""
trl sft --model_name_or_path Qwen/Qwen2.5-0.5B \
    --dataset_name trl-lib/Capybara \
    --learning_rate 1e-5 \
    --packing
"""
NEXT = r"""
case "$1" in
    --train) trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara
    ;;
    --eval) lighteval ;;
esac
"""
MORE = COMMAND + "OPTIONS=(\n    --learning_rate 1e-4\n)\n"

RULE = Rule(
    code="DST115",
    name="severed-option",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="bash 5.2, tried: the command runs without what follows, then `--packing: command not found`, exit code 127.",
    bad=(
        Case(command=COMMAND.replace("1e-5 \\", "1e-5"), at=f"{KEY}.0"),
        Case(command=COMMAND.replace("1e-5 \\", "1e-5 \\ "), at=f"{KEY}.0"),
        Case(command=COMMAND.replace("    --packing", "    # --max_length 512 \\\n    --packing"), at=f"{KEY}.0"),
    ),
    good=(Case(command=COMMAND), Case(command=NEXT), Case(command=MORE)),
    kinds=PROGRAMS,
)
