"""Argument that no release and no other call of the job takes.

## What it does
Checks for arguments that the class or function does not take in the versions that the job will use. Names the nearest
argument, or the config of another method that has it. On a command line, also checks for an abbreviated flag that
matches several flags.

## Why is this bad
The call raises `TypeError: … got an unexpected keyword argument`, after the environment is installed and the imports
have run. A command-line parser refuses a flag that is the beginning of several: `ambiguous option`.

## Fix safety
The fix is unsafe because the nearest name is a guess.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that no release and no other call takes."""
    for each in refused_arguments(job, api, ArgumentChange.UNKNOWN):
        yield Finding(each.key, each.message, each.fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_length: 512
"""
MISSPELT = JOB.replace("max_length", "max_lenght")

SCRIPT = """
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer

args = DPOConfig(
    output_dir="dpo",
    learning_rate=1e-6,
)
trainer = DPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    args=args,
    train_dataset=load_dataset("trl-lib/ultrafeedback_binarized", split="train"),
)
trainer.train()
"""
SLIP = SCRIPT.replace("learning_rate", "learing_rate")
OWN = SCRIPT.replace(
    "args = DPOConfig(",
    '@dataclass\nclass Settings(DPOConfig):\n    notes: str = ""\n\n\nargs = Settings(notes="first try",',
).replace("from datasets", "from dataclasses import dataclass\n\nfrom datasets")
TOLERANT = """
from trl import SFTConfig

try:
    args = SFTConfig("out", max_tokens=512)
except TypeError:
    args = SFTConfig("out", max_length=512)
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --max_length 512\n"

RULE = Rule(
    code="ARG106",
    name="unknown-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`. Each example was run with trl 1.16 and transformers 5.23: the bad ones "
        "raise TypeError, or of a command line: the parser ends it."
    ),
    bad=(
        Case(job=MISSPELT, at="train.max_lenght", fixed=JOB),
        Case(job=JOB.replace("sft", "dpo").replace("max_length: 512", "packing: true"), at="train.packing"),
        Case(script=SLIP, at="train.learing_rate", fixed=SCRIPT),
        Case(script=SCRIPT.replace("learning_rate=1e-6", "packing=True"), at="train.packing"),
        Case(script=SCRIPT.replace("trainer.train()", "trainer.train(restart=True)"), at="calls.3.restart"),
        Case(command=COMMAND.replace("_name_or_path", ""), at="train.model"),
        Case(command=COMMAND.replace("--max_length", "--max"), at="train.max"),
    ),
    good=(
        Case(job=JOB),
        Case(script=SCRIPT),
        Case(command=COMMAND),
        Case(command=COMMAND.replace("--max_length", "--max_l")),
        Case(script=OWN),
        Case(script=TOLERANT),
        Case(script=SLIP.replace("learing_rate=1e-6", "**settings")),
    ),
    kinds=ANY_KIND,
)
