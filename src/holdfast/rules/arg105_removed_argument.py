"""Argument removed without a new name in the versions that the job uses.

## What it does
Checks for arguments that the class or function no longer takes in the versions that the job will use. Names the
release that removed the argument, and what to do instead.

## Why is this bad
The call raises `TypeError: … got an unexpected keyword argument`, after the environment is installed and the imports
have run. The job may still need what the argument did: prompts that `max_prompt_length` used to cut are no longer
cut.

## Fix safety
The fix is safe where it removes an argument that had no effect, or whose value is the default behaviour anyway. It is
unsafe where the job changes only as the message says, as for `max_prompt_length` and `logging_dir`. If removing the
argument would change more, there is no fix.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that was removed."""
    for each in refused_arguments(job, api, ArgumentChange.REMOVED):
        yield Finding(each.key, each.message, each.fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_length: 512
  overwrite_output_dir: true
"""
JOB_FIXED = JOB.replace("  overwrite_output_dir: true\n", "")

SCRIPT = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def score(completions, **kwargs):
    return [float(len(text)) for text in completions]


args = GRPOConfig(
    output_dir="grpo",
    max_prompt_length=512,
    max_completion_length=256,
)
trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    reward_funcs=score,
    args=args,
    train_dataset=load_dataset("trl-lib/DeepMath-103K", split="train"),
)
trainer.train()
"""
KEPT = SCRIPT.replace("    max_prompt_length=512,\n", "")
SAVED = KEPT.replace("    max_completion", "    save_safetensors=True,\n    max_completion")

RULE = Rule(
    code="ARG105",
    name="removed-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`, and `catalog/tables/renames.toml`, whose entries each name the release where "
        "they were read. Each example for the newest versions was run with trl 1.16 and transformers 5.23: the bad ones "
        "raise TypeError. That trl 0.27.2 takes `max_prompt_length` was read in its wheel."
    ),
    bad=(
        Case(job=JOB, at="train.overwrite_output_dir", fixed=JOB_FIXED),
        Case(script=SCRIPT, at="train.max_prompt_length", fixed=KEPT),
        Case(script=SAVED, at="train.save_safetensors", fixed=KEPT),
        Case(script=SAVED.replace("=True", "=False"), at="train.save_safetensors"),
    ),
    good=(
        Case(job=JOB_FIXED),
        Case(script=KEPT),
        Case(script=SCRIPT, versions={"trl": "0.27.2", "transformers": "4.57.6"}),
    ),
    kinds=ANY_KIND,
)
