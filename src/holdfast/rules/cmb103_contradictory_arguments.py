"""Arguments that contradict each other, or whose values the class refuses.

## What it does
Runs the checks that a class makes in its constructor, on the given arguments and the defaults of the others: for
configs, trainers, adapters and quantizations, taken from the source of exactly the versions in use. What the source
does not show (the model, the data, the number of processes, the machine) is treated as unknown, and an error is
reported only where it is certain. Reports a warning where the class continues and ignores an argument.

## Why is this bad
The class raises: after the imports, often after the model and the data are loaded, on every process. An argument that
it ignores was meant to have an effect.

## Fix safety
There is no fix: only you know which of the arguments you meant. Where one of them is likely, another rule fixes it.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import versioned_callee
from holdfast.catalog.calls.constructions import Construction, constructions, is_covered_elsewhere
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Guard
from holdfast.core.job.constructor_checks import Notice
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each class that refuses its arguments, and the arguments that it ignores."""
    every = constructions(job, api)
    for each in every:
        for notice in each.outcome.errors or each.outcome.warned:
            held = _is_tolerated(each.call.guard, notice)
            if not held and not is_covered_elsewhere(each, notice, job, api):
                yield _finding(job, api, each, notice)
    for each in every:
        _require_decided(each, job, api)


def _is_tolerated(guard: Guard, notice: Notice) -> bool:
    return guard.tolerates_refusal(notice.exception) if notice.exception else guard.tolerates("Warning")


def _require_decided(construction: Construction, job: Document, api: Api) -> None:
    construction.require_decided(lambda notice: not is_covered_elsewhere(construction, notice, job, api))


def _finding(job: Document, api: Api, construction: Construction, notice: Notice) -> Finding:
    whose = versioned_callee(api, construction.call, notice.home.partition(".")[0])
    says = f"raises {notice.exception}" if notice.exception else "warns"
    words = notice.message.strip() or "these arguments are refused"
    severity = None if notice.exception else Severity.WARNING
    return Finding(construction.key(job, notice), f"{whose} {says}: {words}", severity=severity)


WORKERS = """
from trl import SFTConfig

args = SFTConfig(output_dir="out", dataloader_prefetch_factor=2)
"""
LOSSES = """
from trl import DPOConfig

args = DPOConfig(output_dir="out", loss_type=["sigmoid", "sft"], loss_weights=[1.0])
"""
REWARDS = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def long(completions, **kwargs):
    return [len(text) for text in completions]


trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct",
    args=GRPOConfig(output_dir="out", reward_weights=[1.0]),
    reward_funcs=[long],
    train_dataset=load_dataset("trl-lib/DeepMath-103K", split="train"),
)
"""
SYNCED = REWARDS.replace("reward_weights=[1.0]", "sync_ref_model=True")
BITS = """
from transformers import BitsAndBytesConfig

quantization = BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)
"""
JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/ultrafeedback_binarized
train:
  loss_type: [sigmoid, sft]
  loss_weights: [1.0]
"""

RULE = Rule(
    code="CMB103",
    name="contradictory-arguments",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source=(
        "`__init__` and `__post_init__` of each release, read by `ast`. Tried: some thousand combinations of arguments given "
        "to the config, quantization and adapter classes of trl 1.16, transformers 5.23 and peft 0.21: each finding raises."
    ),
    bad=(
        Case(script=WORKERS, at="calls.0.dataloader_prefetch_factor"),
        Case(script=LOSSES, at="calls.0.loss_weights"),
        Case(script=SYNCED, at="train.sync_ref_model"),
        Case(script=BITS, at="calls.0.load_in_8bit"),
        Case(script=BITS.replace("load_in_4bit=True, load_in_8bit=True", "True, True"), at="calls.0.1"),
        Case(
            script="from trl import GRPOConfig\n\nGRPOConfig('out', num_generations=1)\n", at="calls.0.num_generations"
        ),
        Case(job=JOB, at="train.loss_weights"),
    ),
    good=(
        Case(script=WORKERS.replace("_factor=2", "_factor=2, dataloader_num_workers=2")),
        Case(script=LOSSES.replace("[1.0]", "[1.0, 0.5]")),
        Case(script=LOSSES, versions={"trl": "0.15.0", "transformers": "4.48.0"}),
        Case(script=REWARDS),
        Case(script=SYNCED.replace("sync_ref_model=True", "sync_ref_model=True, beta=0.04")),
        Case(script=BITS.replace("load_in_8bit=True", "bnb_4bit_use_double_quant=True")),
        Case(job=JOB.replace("[1.0]", "[1.0, 1.0]")),
        Case(script=REWARDS.replace("reward_weights=[1.0]", "num_generations=1")),
    ),
)
