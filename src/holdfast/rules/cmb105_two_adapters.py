"""Adapter added twice: by `get_peft_model` and by the trainer.

## What it does
Checks for `peft_config` in a trainer whose model already has an adapter, with the checks that the trainer makes in
the versions in use.

## Why is this bad
The trainer raises `ValueError: You passed a PeftModel instance together with a peft_config`, after the model is
loaded. Older releases of TRL accepted both, and many examples in circulation still do so.

## Fix safety
The fix removes `peft_config` from the trainer. It is safe if the adapter was created with the same config. It is
unsafe if the adapter was created with another config, or loaded, because only you know which one you meant.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import versioned_callee
from holdfast.catalog.calls.constructions import refusals
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document, Remove

ADAPT = "peft.get_peft_model"
ARGUMENT = "peft_config"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each trainer that adds an adapter to a model which has one."""
    for made, raised in refusals(job, api, "two-adapters"):
        call = made.call
        key = f"{call.key}.{ARGUMENT}"
        message = f"{versioned_callee(api, call)} raises {raised.exception}: its model already has an adapter"
        fix = Fix(f"remove `{ARGUMENT}`", (Remove(key),), safe=_is_same(job, call))
        yield Finding(key, message, fix if ARGUMENT in call.arguments else None)


def _is_same(job: Document, call: Call) -> bool:
    """True if the model's adapter was made with the config that the trainer gets."""
    model = next(iter(call.positional), call.arguments.get("model"))
    if not isinstance(model, CallResult) or model.path != ADAPT:
        return False
    adapted = job.call(model.key)
    given = (*adapted.positional[1:], *adapted.arguments.values()) if adapted else ()
    return isinstance(call.arguments[ARGUMENT], CallResult) and call.arguments[ARGUMENT] in given


SCRIPT = """
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

lora = LoraConfig(target_modules="all-linear")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), lora)
trainer = SFTTrainer(
    model=model,
    args=SFTConfig(output_dir="out"),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=lora,
)
"""
ANOTHER = SCRIPT.replace("peft_config=lora", 'peft_config=LoraConfig(r=8, target_modules="all-linear")')
FIXED = SCRIPT.replace("    peft_config=lora,\n", "")

RULE = Rule(
    code="CMB105",
    name="two-adapters",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=PROGRAMS,
    source=(
        "The check in the `__init__` of each of trl's trainers, in the history of releases. Tried with trl 1.16, peft 0.21 and a "
        "tiny model: ValueError while the trainer is built, and none without the argument."
    ),
    bad=(
        Case(script=SCRIPT, at="trainer.peft_config", fixed=FIXED),
        Case(script=ANOTHER, at="trainer.peft_config", fixed=FIXED),
    ),
    good=(
        Case(script=FIXED),
        Case(script=SCRIPT.replace("model=model", 'model="Qwen/Qwen2.5-0.5B"')),
    ),
)
