"""Quantized weights in a job that cannot train them.

## What it does
Checks for quantization without an adapter, for 4 and 8 bits at once, for neither, for a dtype that torch does not
have, and for adapter weights initialized from the base weights (`pissa`, `corda`, `orthogonal`), which must not be
quantized.

## Why is this bad
Quantized weights have no gradients, so `Trainer` raises ValueError if nothing trainable is added to them. The other
cases raise while the config or the adapter is created, after the model is downloaded. If neither `load_in_4bit` nor
`load_in_8bit` is true, transformers 5.23 quantizes to 4 bits all the same.

## Fix safety
The fix is unsafe: it adds an adapter on all linear layers, which most users who quantize intend, but which is a
different training.
"""

from collections.abc import Iterator, Mapping

from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove, Set

FOUR, EIGHT = "quantization.load_in_4bit", "quantization.load_in_8bit"
COMPUTE, STORAGE = "quantization.bnb_4bit_compute_dtype", "quantization.bnb_4bit_quant_storage"
FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES = {COMPUTE: FLOATS, STORAGE: (*FLOATS, "int8", "uint8")}
# Initializations that read the base weights; `pissa_niter_16` and the like begin with one of them.
FROM_WEIGHTS = ("pissa", "corda", "orthogonal")
ADAPTER = Fix("train a LoRA adapter", (Set("peft", {"target_modules": "all-linear"}),), safe=False)


def check(job: Document) -> Iterator[Finding]:
    """Report each setting that quantized weights do not support."""
    if not isinstance(job.get("quantization"), Mapping):
        return
    if job.get("peft", None) is None:
        fault = "quantized weights cannot be trained themselves: add an adapter with `peft`"
        yield Finding("quantization", fault, ADAPTER)
    yield from _bits(job)
    yield from _types(job)
    start = job.get("peft.init_lora_weights", None)
    if isinstance(start, str) and start.startswith(FROM_WEIGHTS):
        fix = Fix("start from zero", (Remove("peft.init_lora_weights"),), safe=False)
        yield Finding("peft.init_lora_weights", f"`{start}` reads the base weights, which are quantized", fix)


def _types(job: Document) -> Iterator[Finding]:
    for key, types in TYPES.items():
        written = job.get(key, None)
        if isinstance(written, str) and written not in types:
            yield Finding(key, f"{written!r} is not one of: {', '.join(types)}")


def _bits(job: Document) -> Iterator[Finding]:
    four, eight = job.get(FOUR, default=False), job.get(EIGHT, default=False)
    if four and eight:
        fix = Fix("load in 4 bits", (Remove(EIGHT),), safe=False)
        yield Finding(EIGHT, "weights are loaded in 4 or in 8 bits, not in both", fix)
    elif not four and not eight:
        fault = (
            "neither `load_in_4bit` nor `load_in_8bit` is true, and the weights are quantized to 4 bits all the same"
        )
        yield Finding("quantization", fault, severity=Severity.WARNING)


BARE = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
quantization: {load_in_4bit: true}
"""
ADAPTED = BARE + "peft: {target_modules: all-linear}\n"
BOTH = ADAPTED.replace("load_in_4bit: true", "load_in_4bit: true, load_in_8bit: true")
PISSA = ADAPTED.replace("all-linear", "all-linear, init_lora_weights: pissa")

RULE = Rule(
    code="MOD101",
    name="incompatible-quantization",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `validate_quantization_for_training` and `BitsAndBytesConfig`; peft 0.21. Tried on a CPU with "
        "bitsandbytes 0.50.2 and a tiny model: each bad example raises, LoRA on 4 and on 8 bits trains."
    ),
    bad=(
        Case(job=BARE, at="quantization", fixed=BARE + "peft:\n  target_modules: all-linear\n"),
        Case(job=BOTH, at=EIGHT, fixed=ADAPTED),
        Case(job=PISSA, at="peft.init_lora_weights", fixed=ADAPTED),
        Case(job=ADAPTED.replace("true", "true, bnb_4bit_compute_dtype: bf16"), at=COMPUTE),
        Case(job=ADAPTED.replace("load_in_4bit: true", "bnb_4bit_quant_type: nf4"), at="quantization"),
    ),
    good=(
        Case(job=ADAPTED),
        Case(job=ADAPTED.replace("load_in_4bit: true", "load_in_8bit: true")),
        Case(job=ADAPTED.replace("true", "true, bnb_4bit_compute_dtype: bfloat16, bnb_4bit_quant_storage: uint8")),
        Case(job=ADAPTED.replace("quantization: {load_in_4bit: true}\n", "")),
    ),
)
