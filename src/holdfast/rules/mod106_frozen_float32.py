"""Frozen base weights kept in 32 bits.

## What it does
With trl 0.27 or newer, checks for an adapter on a model that the trainer loads by name, without a `dtype` in
`model_init_kwargs`.

## Why is this bad
TRL loads a model by name in float32, whatever the dtype of its checkpoint. That is right if all weights are trained.
Under an adapter the base weights are only read, and take twice the memory that they need: 28 GB instead of 14 for 7
billion parameters.

## Fix safety
The fix is unsafe because it changes the computation: it rounds the base weights to 16 bits, in which most checkpoints
are stored anyway. The adapter stays in float32.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document, Set
from holdfast.core.job.methods import Method

FULL = "0.27.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a base model that is loaded in float32 under an adapter."""
    if not since(api, "trl", FULL) or job.get("method", "") not in tuple(Method):
        return
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.open or not _adapts(job):
        return
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    config = job.call("train")
    if not isinstance(model, str) or config is None or config.open or "quantization_config" in trainer.arguments:
        return
    if job.get("train.model_init_kwargs", None) is None:
        fix = Fix("load it in bfloat16", (Set("train.model_init_kwargs", {"dtype": "bfloat16"}),), safe=False)
        fault = "trl loads this model in float32; under an adapter, bfloat16 takes half the memory: set a `dtype`"
        yield Finding("train", fault, fix, place=config.name_place)


def _adapts(job: Document) -> bool:
    return isinstance(job.get("trainer.peft_config", None), CallResult)


SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", model_init_kwargs={"dtype": "bfloat16"})
trainer = SFTTrainer(model="Qwen/Qwen2.5-7B", args=args, train_dataset=rows, peft_config=LoraConfig())
"""
FULL_SIZE = SCRIPT.replace(', model_init_kwargs={"dtype": "bfloat16"}', "")

RULE = Rule(
    code="MOD106",
    name="frozen-float32",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "trl from 0.27 to 1.16, `create_model_from_path`. Tried with 1.16 and a tiny model: the frozen weights are float32, "
        "with the fix bfloat16, and the adapter's float32 in both."
    ),
    bad=(Case(script=FULL_SIZE, at="train", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=FULL_SIZE.replace(", peft_config=LoraConfig()", "")),
        Case(script=FULL_SIZE, versions={"trl": "0.26.2"}),
    ),
    kinds=PROGRAMS,
)
