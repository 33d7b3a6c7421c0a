"""Quantization of weights that are already quantized.

## What it does
Checks `quantization_config` in the model's `config.json`, if the job quantizes with bitsandbytes.

## Why is this bad
If the weights are stored by another method, loading raises ValueError. If they are stored by bitsandbytes, the job's
own settings are ignored with a warning: what was meant to be 8 bits stays 4.

## Fix safety
The fix is unsafe: it removes the job's quantization, and with weights of another method nothing was trained before.
For weights of bitsandbytes, removing it changes nothing, because it is ignored anyway.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.models.base_models import Base, base_of, quantization_class
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

OURS, CLASS = "bitsandbytes", "BitsAndBytesConfig"
# Methods for which transformers refuses bitsandbytes' settings; it ignores methods that it does not know.
OTHERS = {
    *("aqlm", "auto-round", "awq", "bitnet", "compressed-tensors", "eetq", "fbgemm_fp8", "fp8", "gptq", "higgs", "hqq"),
    *("mxfp4", "quanto", "quark", "spqr", "torchao", "vptq"),
}
BITS = ("load_in_4bit", "load_in_8bit")


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report the quantization of weights that are already quantized."""
    base, stored = base_of(job, model), (model.config or {}).get("quantization_config")
    if base is None or not isinstance(stored, Mapping) or quantization_class(job) != CLASS:
        return
    method = str(stored.get("quant_method"))
    if method in OTHERS:
        yield _refused(job, base, method)
    elif method == OURS:
        yield from _ignored(job, base, stored)


def _refused(job: Document, base: Base, method: str) -> Finding:
    removal = Fix("leave the job's quantization out", (Remove("quantization"),), safe=False)
    fault = f"its weights are quantized by {method} already, and bitsandbytes' settings are refused"
    return base.finding(fault, removal if job.kind == "job" else None)


def _ignored(job: Document, base: Base, stored: Mapping[str, Any]) -> Iterator[Finding]:
    if any(job.get(f"quantization.{bits}", default=False) and not stored.get(bits) for bits in BITS):
        bits = next((bits for bits in BITS if stored.get(bits)), "its own")
        fault = f"its weights are stored with `{bits}`, and the job's own settings are ignored"
        yield base.finding(fault, severity=Severity.WARNING)


JOB = """
method: sft
model: acme/small-GPTQ
dataset: trl-lib/Capybara
peft: {target_modules: all-linear}
environment: {requirements: [optimum, gptqmodel]}
"""
TWICE = JOB + "quantization: {load_in_4bit: true}\n"
SCRIPT = """from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/small-FP8", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter())
"""


def _stored(**settings: object) -> dict[str, object]:
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "quantization_config": settings or None}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD119",
    name="second-quantization",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `merge_quantization_configs`. Tried with trl 1.16, bitsandbytes 0.50.2 and tiny models: GPTQ, FP8 and MXFP4 "
        "with `BitsAndBytesConfig` raise ValueError; 4 bits with `load_in_8bit` stay 4 bits, and train."
    ),
    bad=(
        Case(job=TWICE, facts=_stored(quant_method="gptq", bits=4), at="model", fixed=JOB),
        Case(
            job=TWICE.replace("4bit", "8bit"),
            facts=_stored(quant_method="bitsandbytes", load_in_4bit=True, load_in_8bit=False),
            at="model",
        ),
        Case(script=SCRIPT, facts=_stored(quant_method="fp8"), at="model.0"),
    ),
    good=(
        Case(job=JOB, facts=_stored(quant_method="gptq", bits=4)),
        Case(job=TWICE, facts=_stored(quant_method="bitsandbytes", load_in_4bit=True)),
        Case(job=TWICE, facts=_stored()),
    ),
    kinds=ANY_KIND,
)
