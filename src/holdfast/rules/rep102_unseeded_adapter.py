"""Adapter without a seed, so its first weights differ in every run.

## What it does
Checks for `get_peft_model()` in a script that builds a trainer and sets no seed.

## Why is this bad
The trainer sets its seed when it is built. An adapter that was added to the model before has already drawn its
weights, from a generator without a fixed seed, so two runs of the same script differ from the first step on. With
`peft_config=`, the trainer adds the adapter itself, after it sets its seed.

## Fix safety
There is no automatic fix: call `transformers.set_seed(42)` first, or pass `peft_config` to the trainer.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

SEEDING = ("set_seed", "manual_seed", "seed_everything", "enable_full_determinism")


def check(job: Document) -> Iterator[Finding]:
    """Report the first adapter whose weights are drawn without a seed."""
    trains = any(call.key == "trainer" and call.via == "call" for call in job.calls)
    drawn = next(filter(_draws, job.calls), None)
    if trains and drawn and not any(each in job.text for each in SEEDING):
        fault = "the adapter's weights are drawn here, before the trainer sets its seed: call `set_seed` first"
        yield Finding(drawn.key, fault, place=drawn.name_place)


def _draws(call: Call) -> bool:
    return call.path == "peft.get_peft_model" and call.via == "call" and not call.guard.because


SCRIPT = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, set_seed
from trl import SFTTrainer

set_seed(42)
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), LoraConfig())
trainer = SFTTrainer(model=model, train_dataset=rows)
"""
UNSEEDED = SCRIPT.replace(", set_seed", "").replace("set_seed(42)\n", "")

RULE = Rule(
    code="REP102",
    name="unseeded-adapter",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "peft 0.21, trl 1.16. Tried in two processes: the weights of `get_peft_model` differ, those of SFTTrainer's "
        "`peft_config` do not."
    ),
    bad=(Case(script=UNSEEDED, at="calls.0"),),
    good=(
        Case(script=SCRIPT),
        Case(script=UNSEEDED.replace("model =", "import torch\n\ntorch.manual_seed(1)\nmodel =")),
        Case(script="from peft import LoraConfig\n\nconfig = LoraConfig()\n"),
    ),
    kinds=PROGRAMS,
)
