"""Argument renamed in the versions that the job uses.

## What it does
Checks for arguments that the class or function takes under another name in the versions that the job will use.
Arguments that were removed are reported by `removed-argument`. The arguments of a config depend on two packages: most
of those of `SFTConfig` come from transformers' `TrainingArguments`.

## Why is this bad
The call raises `TypeError: … got an unexpected keyword argument`, after the environment is installed and the imports
have run. No release of trl sets an upper bound for transformers, so a script that names no versions gets the newest
of both. Many examples in circulation still use the old names: `warmup_ratio`, `max_seq_length`,
`evaluation_strategy`.

## Fix safety
The fix is safe if the value means the same under the new name. A `warmup_ratio` below 1 becomes a `warmup_steps`
below 1, which is a fraction of all steps. From 1 on, `warmup_steps` counts steps, so the fix is unsafe.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that has another name now."""
    for each in refused_arguments(job, api, ArgumentChange.RENAMED):
        yield Finding(each.key, each.message, each.fix)


OLD = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_seq_length: 512  # enough
  warmup_ratio: 0.1
"""
NEW = OLD.replace("max_seq_length", "max_length").replace("warmup_ratio", "warmup_steps")
GROUPED = NEW.replace("warmup_steps: 0.1", "group_by_length: true")

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    output_dir="capybara",
    max_seq_length=512,  # enough
    warmup_ratio=0.1,
)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=load_dataset("trl-lib/Capybara", split="train"))
trainer.train()
"""
SCRIPT_NEW = SCRIPT.replace("max_seq_length", "max_length").replace("warmup_ratio", "warmup_steps")
TOKENIZED = (
    SCRIPT_NEW.replace("args=args,", "args=args, tokenizer=AutoTokenizer.from_pretrained(BASE),")
    .replace("from trl", "from transformers import AutoTokenizer\nfrom trl")
    .replace("\nargs", '\nBASE = "Qwen/Qwen2.5-0.5B"\nargs', 1)
)

RULE = Rule(
    code="ARG101",
    name="renamed-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`, and `catalog/tables/renames.toml`, whose entries each name the release where "
        "they were read. Each example for the newest versions was run with trl 1.16 and transformers 5.23: the bad ones "
        "raise TypeError. The older ones were read in the wheels of trl 0.15.2 and transformers 4.49.0."
    ),
    bad=(
        Case(job=OLD, at="train.max_seq_length", fixed=NEW),
        Case(
            job=GROUPED,
            at="train.group_by_length",
            fixed=GROUPED.replace("group_by_length: true", "train_sampling_strategy: group_by_length"),
        ),
        Case(script=SCRIPT, at="train.max_seq_length", fixed=SCRIPT_NEW),
        Case(
            script=TOKENIZED, at="trainer.tokenizer", fixed=TOKENIZED.replace("tokenizer=Auto", "processing_class=Auto")
        ),
    ),
    good=(
        Case(job=NEW),
        Case(script=SCRIPT_NEW),
        Case(script=SCRIPT, versions={"trl": "0.15.2", "transformers": "4.49.0"}),
        Case(script=TOKENIZED, versions={"trl": "0.15.2", "transformers": "4.49.0"}),
    ),
    kinds=ANY_KIND,
)
