"""Trainer with the config of another trainer.

## What it does
Checks the class of a trainer's `args` against the class in the trainer's signature, in the versions that the job will
use. Checks only classes of trl and transformers.

## Why is this bad
The trainer raises AttributeError for the first setting that the other config lacks, or TypeError for the first one
that it does not know. Only `SFTTrainer` accepts plain `TrainingArguments`, and converts them to an `SFTConfig`.

## Fix safety
The fix replaces plain `TrainingArguments` by the trainer's own config, which has all of their settings, and writes
out the defaults that differ. It is safe unless another trainer uses the same object. There is no fix for the config
of another trainer: their settings differ.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.arguments import callee_name, names_of, signatures, versioned_callee
from holdfast.catalog.calls.moving import config_of, is_used_once, recasting, spelled_recast
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document

SINCE = "0.29.0"
"""Before it, some of TRL's trainers accepted plain TrainingArguments."""
PLAIN = "TrainingArguments"
CONVERTS = "SFTTrainer"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each trainer that gets the config of another trainer."""
    for call, _ in signatures(job, api):
        given = call.arguments.get("args")
        wanted = config_of(call.path)
        known = isinstance(given, CallResult) and call.package == "trl" and since(api, "trl", SINCE)
        if known and isinstance(given, CallResult) and api.signature(wanted) and not _fits(api, call, given, wanted):
            name = given.path.rpartition(".")[2]
            message = f"{versioned_callee(api, call)} takes `{wanted.rpartition('.')[2]}`, not `{name}`"
            yield Finding(f"{call.key}.args", message, _fix(job, api, given, wanted))


def _fix(job: Document, api: Api, result: CallResult, wanted: str) -> Fix | None:
    made = job.call(result.key)
    edits = recasting(api, made, wanted) if made else None
    if made is None or edits is None:
        return None
    return Fix(spelled_recast(made, wanted, edits), edits, safe=is_used_once(job, made))


def _fits(api: Api, call: Call, result: CallResult, wanted: str) -> bool:
    names = names_of(api, result.path)
    if PLAIN not in names:
        return True  # of a class that is not known, or no config
    if callee_name(call) == CONVERTS and result.path.rpartition(".")[2] in (PLAIN, f"Seq2Seq{PLAIN}"):
        return True
    return wanted.rpartition(".")[2] in names


SCRIPT = """
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer

trainer = DPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    args=DPOConfig(output_dir="dpo"),
    train_dataset=load_dataset("trl-lib/ultrafeedback_binarized", split="train"),
)
trainer.train()
"""
FOREIGN = SCRIPT.replace("import DPOConfig, ", "import SFTConfig, ").replace("args=DPOConfig", "args=SFTConfig")
PLAIN_ARGUMENTS = (
    SCRIPT.replace("DPOConfig, ", "")
    .replace("args=DPOConfig", "args=TrainingArguments")
    .replace("from trl", "from transformers import TrainingArguments\nfrom trl")
)
OWN = SCRIPT.replace(
    'DPOConfig(output_dir="dpo")',
    'DPOConfig(output_dir="dpo", learning_rate=5e-05, bf16=False, activation_checkpointing=False, logging_steps=500)',
)

RULE = Rule(
    code="ARG116",
    name="foreign-config",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: each of the six stable trainers with each of the six configs and with "
        "TrainingArguments, 42 pairs. All but a trainer's own raise while it is built, save SFTTrainer with "
        "TrainingArguments."
    ),
    bad=(
        Case(script=FOREIGN, at="trainer.args"),
        Case(script=PLAIN_ARGUMENTS, at="trainer.args", fixed=OWN),
        Case(
            script=PLAIN_ARGUMENTS,
            at="trainer.args",
            versions={"trl": "1.16.0", "transformers": "5.20.0"},
            fixed=OWN.replace("activation_", "gradient_"),
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=PLAIN_ARGUMENTS.replace("DPOTrainer", "SFTTrainer").replace("ultrafeedback_binarized", "Capybara")),
        Case(
            script=SCRIPT.replace("args=DPOConfig", "args=Settings").replace(
                "\ntrainer", "\n\nclass Settings(DPOConfig):\n    pass\n\n\ntrainer", 1
            )
        ),
    ),
    kinds=PROGRAMS,
)
