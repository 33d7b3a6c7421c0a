"""Command that names a config file that does not exist.

## What it does
Checks for the YAML and JSON files that commands in a shell script name, such as the value of `--config` or
`--config_file`. Looks in the folder where holdfast runs, beside the shell script, and in the folders above it. Skips
files that the shell script also mentions elsewhere, or may download or copy, and everything after a `cd` to an
unknown folder.

## Why is this bad
The command ends with FileNotFoundError. On a cluster, this happens after the job has waited in the queue.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator, Mapping

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.text.places import Place


def check(absent_files: Mapping[str, Place]) -> Iterator[Finding]:
    """Report each config file that does not exist."""
    for index, (name, place) in enumerate(absent_files.items()):
        yield Finding(f"launch.absent.{index}", f"there is no file `{name}`", place=place)


COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --config recipe.yaml\n"

RULE = Rule(
    code="ARG123",
    name="absent-config-file",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16 and accelerate 1.15, tried: FileNotFoundError from `trl sft --config gone.yaml` and from `accelerate launch --config_file gone.yaml`."
    ),
    bad=(
        Case(
            command=COMMAND,
            facts={"absent_files": {"recipe.yaml": Place("run.sh", 1, 89, 1, 100)}},
            at="launch.absent.0",
        ),
    ),
    good=(Case(command=COMMAND, facts={"absent_files": {}}),),
    kinds=PROGRAMS,
)
