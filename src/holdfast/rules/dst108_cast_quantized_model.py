"""Quantized model cast to another dtype.

## What it does
Checks for `.half()`, `.float()` and `.to(torch.…)` with a dtype, on a model that was loaded with a
`BitsAndBytesConfig`.

## Why is this bad
The weights are packed into 4 or 8 bits. transformers raises ValueError for each of these calls, after the model is
downloaded and loaded. Moving the model to a device with `.to("cuda")` is fine.

## Fix safety
There is no automatic fix: remove the call, and set the dtype in `from_pretrained(dtype=…)` or
`bnb_4bit_compute_dtype`.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult, LibraryName
from holdfast.core.job.document import Document

LOADS = ".from_pretrained"
CASTS = frozenset({"half", "float"})
TYPES = frozenset({"float16", "bfloat16", "float32", "float64", "half", "double"})


def check(job: Document) -> Iterator[Finding]:
    """Report each cast of a quantized model."""
    for call in job.calls:
        loaded, _, method = call.path.partition("().")
        if not loaded.startswith("transformers.") or not loaded.endswith(LOADS) or call.guard.tolerates("ValueError"):
            continue
        if _is_cast(call, method) and _all_quantized(job, loaded):
            fault = f"`{call.label}` casts a quantized model, whose packed weights have no other type: it raises"
            yield Finding(call.key, fault, place=call.name_place)


def _is_cast(call: Call, method: str) -> bool:
    if method != "to" and method not in CASTS:
        return False
    given = (*call.positional, *call.arguments.values())
    types = [value.path for value in given if isinstance(value, LibraryName)]
    if method == "to":
        return any(path.startswith("torch.") and path.rpartition(".")[2] in TYPES for path in types)
    return not given


def _all_quantized(job: Document, loaded: str) -> bool:
    """True if every model that is loaded in this way is quantized: the path does not tell which of them is cast."""
    loads = [call for call in job.calls if call.path == loaded]
    return bool(loads) and all(
        isinstance(config := call.arguments.get("quantization_config"), CallResult)
        and config.path.endswith("BitsAndBytesConfig")
        for call in loads
    )


SCRIPT = """
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

quantization = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=quantization)
model.to("cuda")
"""

RULE = Rule(
    code="DST108",
    name="cast-quantized-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 4.36 to 5.23, `PreTrainedModel.half`, `float` and `to`: each release raises ValueError for "
        "these. Read, not run: a quantized model was not loaded here. Since 4.45 a device alone is allowed."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace('.to("cuda")', ".half()"), at="calls.2"),
        Case(script=SCRIPT.replace('"cuda"', "torch.bfloat16"), at="calls.2"),
        Case(script=SCRIPT.replace('"cuda"', 'dtype=torch.float32, device="cuda"'), at="calls.2"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace(", quantization_config=quantization", "").replace('"cuda"', "torch.bfloat16")),
    ),
)
