"""Weights stored quantized in a job that trains them without an adapter.

## What it does
Checks `quantization_config` in the model's `config.json`, for bitsandbytes, GPTQ and AWQ, in a job without an
adapter.

## Why is this bad
Such weights have no gradients. `Trainer` raises ValueError,
`You cannot perform fine-tuning on purely quantized models`, after the model is loaded.

## Fix safety
The fix is unsafe: it adds an adapter on all linear layers, which most users who train such a model intend. The
alternative is the model's own repository from before it was quantized.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.models.base_models import adapts, base_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

FROZEN = {"bitsandbytes": "bitsandbytes", "gptq": "GPTQ", "awq": "AWQ"}


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report quantized weights that are trained without an adapter."""
    base = base_of(job, model)
    method = _method(model.config or {})
    if base is None or method not in FROZEN or adapts(job):
        return
    fix = Fix("train a LoRA adapter", (Set("peft", {"target_modules": "all-linear"}),), safe=False)
    fault = f"its weights are stored quantized by {FROZEN[method]}, and cannot be trained without an adapter"
    yield base.finding(fault, fix if job.kind == "job" else None)


def _method(config: Mapping[str, Any]) -> str:
    given = config.get("quantization_config")
    return str(given.get("quant_method", "")) if isinstance(given, Mapping) else ""


JOB = """
method: sft
model: acme/small-bnb-4bit
dataset: trl-lib/Capybara
environment: {requirements: [bitsandbytes]}
"""
ADAPTED = JOB + "peft:\n  target_modules: all-linear\n"
SCRIPT = """from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/small-GPTQ")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=LoraConfig())
"""
COMMAND = "trl sft --model_name_or_path acme/small-AWQ --dataset_name trl-lib/Capybara\n"


def _stored(method: str | None) -> dict[str, object]:
    stored = {"quant_method": method} if method else None
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "quantization_config": stored}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD118",
    name="bare-quantized-weights",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `validate_quantization_for_training`. Tried with trl 1.16, bitsandbytes 0.50.2 and a tiny model saved in 4 "
        "bits: all six trainers raise ValueError, and train with LoRA; GPTQ and AWQ by the same source. FP8 and MXFP4 are unpacked where "
        "the hardware cannot compute in them, and train; nothing is said of them."
    ),
    bad=(
        Case(job=JOB, facts=_stored("bitsandbytes"), at="model", fixed=ADAPTED),
        Case(script=SCRIPT.replace(", peft_config=LoraConfig()", ""), facts=_stored("gptq"), at="model.0"),
        Case(command=COMMAND, facts=_stored("awq"), at="train.model_name_or_path"),
    ),
    good=(
        Case(job=ADAPTED, facts=_stored("bitsandbytes")),
        Case(job=JOB, facts=_stored(None)),
        Case(job=JOB, facts=_stored("mxfp4")),
        Case(script=SCRIPT, facts=_stored("gptq")),
        Case(command=COMMAND.replace("\n", " --use_peft\n"), facts=_stored("awq")),
    ),
    kinds=ANY_KIND,
)
