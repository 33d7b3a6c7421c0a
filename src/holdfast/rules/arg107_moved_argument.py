"""Argument passed to the config instead of the trainer, or to the trainer instead of the config.

## What it does
Checks for arguments that their call does not take, but that the other of the trainer's two calls takes, under the
same name or its current one. In a job file, checks for arguments that have a key of their own.

## Why is this bad
The call raises `TypeError: … got an unexpected keyword argument`. TRL's trainers took `max_seq_length`, `packing`,
`dataset_text_field`, `beta` and many others until trl 0.12.2; since 0.13.0 only the configs do.

## Fix safety
The fix moves the value into the trainer's config, unless the config already sets it. It is safe, but unsafe if
another trainer uses the same config. Plain `TrainingArguments` are first replaced by the trainer's own config, and
defaults that differ are written out. A trainer without a config gets one, with the output folder that it would use:
safe where the trainer names the model. There is no fix if the value is computed from something defined later or
something that changes, or if the config comes from a parser. In a job file, a value under `train` is moved to its key
if that key is not set.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that belongs to another call."""
    for each in refused_arguments(job, api, ArgumentChange.MOVED):
        yield Finding(each.key, each.message, each.fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_length: 512
  lora_r: 16
"""
JOB_FIXED = JOB.replace("  lora_r: 16\n", "peft:\n  r: 16\n")

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="capybara")
trainer = SFTTrainer(
    "Qwen/Qwen2.5-0.5B",
    args=args,
    max_seq_length=512,
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
)
trainer.train()
"""
FIXED = SCRIPT.replace("    max_seq_length=512,\n", "").replace('"capybara")', '"capybara", max_length=512)')
TWICE = SCRIPT.replace('"capybara")', '"capybara", max_length=512)')
BARE = (
    SCRIPT.replace("    args=args,\n", "")
    .replace('\nargs = SFTConfig(output_dir="capybara")', "")
    .replace("SFTConfig, ", "")
)
BARE_FIXED = (
    BARE.replace("    max_seq_length=512,\n", "")
    .replace('"train"),\n', '"train"),\n    args=SFTConfig(output_dir="Qwen2.5-0.5B-SFT", max_length=512),\n')
    .replace("import SFTTrainer", "import SFTConfig, SFTTrainer")
)
TRAINER_OF_OLD = SCRIPT.replace("SFTConfig", "TrainingArguments").replace(
    "from trl import TrainingArguments, ", "from transformers import TrainingArguments\nfrom trl import "
)
DEFAULTS = "learning_rate=5e-05, bf16=False, activation_checkpointing=False, logging_steps=500"
FIXED_OF_OLD = FIXED.replace("max_length=512", f"{DEFAULTS}, max_length=512")

RULE = Rule(
    code="ARG107",
    name="moved-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`. Each example for the newest versions was run with trl 1.16 and "
        "transformers 5.23: the bad ones raise TypeError. That trl 0.8.6 takes `max_seq_length` in `SFTTrainer` was read "
        "in its wheel."
    ),
    bad=(
        Case(job=JOB, at="train.lora_r", fixed=JOB_FIXED),
        Case(job=JOB.replace("lora_r: 16", "tokenizer: gpt2"), at="train.tokenizer"),
        Case(script=SCRIPT, at="trainer.max_seq_length", fixed=FIXED),
        Case(script=TWICE, at="trainer.max_seq_length", fixed=FIXED),
        Case(script=BARE, at="trainer.max_seq_length", fixed=BARE_FIXED),
        Case(script=TRAINER_OF_OLD, at="trainer.max_seq_length", fixed=FIXED_OF_OLD),
        Case(script=FIXED.replace("max_length=512", "peft_config=None"), at="train.peft_config"),
    ),
    good=(
        Case(job=JOB_FIXED),
        Case(script=FIXED),
        Case(script=TRAINER_OF_OLD, versions={"trl": "0.8.6", "transformers": "4.41.2"}),
    ),
    kinds=ANY_KIND,
)
