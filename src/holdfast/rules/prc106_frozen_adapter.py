"""Adapter frozen by `prepare_model_for_kbit_training`.

## What it does
Checks for `prepare_model_for_kbit_training` on the result of `get_peft_model`.

## Why is this bad
The call freezes all existing weights, to train an adapter that is added afterwards. In the reverse order it freezes
the adapter too: nothing is left to train. The run finishes without an error, and the saved adapter is what it was at
the start.

## Fix safety
There is no automatic fix: swap the two calls.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document

PREPARE, ADAPT = "prepare_model_for_kbit_training", "get_peft_model"


def check(job: Document) -> Iterator[Finding]:
    """Report each adapter that is prepared instead of its base model."""
    for call in job.calls:
        if call.package != "peft" or call.name != PREPARE or call.guard.because:
            continue
        model = call.positional[0] if call.positional else call.arguments.get("model")
        if isinstance(model, CallResult) and model.path.startswith("peft.") and model.path.endswith(ADAPT):
            fault = f"{PREPARE} freezes all weights, and the adapter is among them already: nothing will be trained"
            yield Finding(call.key, fault, place=call.name_place)


SCRIPT = """
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(target_modules="all-linear"))
"""
FIRST, SECOND = SCRIPT.splitlines()[-2:]

RULE = Rule(
    code="PRC106",
    name="frozen-adapter",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with peft 0.21, trl 1.16 and a tiny model: after the two calls in this order no parameter has "
        "`requires_grad`, and `SFTTrainer.train` ends without an error."
    ),
    kinds=PROGRAMS,
    bad=(Case(script="\n".join([*SCRIPT.splitlines()[:-2], SECOND, FIRST, ""]), at="calls.3"),),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace(f"{FIRST}\n", "")),
    ),
)
