"""Argument given twice: by position and by keyword, or under its old and its new name.

## What it does
Checks for keywords that a call already passes by position, and for old names of arguments that the call also passes
under their current names.

## Why is this bad
The call raises `TypeError: … got multiple values for argument`. If the old and the new name are given, the library
raises ValueError or ignores one of the two values, and which one depends on the release.

## Fix safety
There is no fix: it is unknown which of the two values is meant.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import signatures, versioned_callee
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.api import CallSignature
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that is given twice."""
    for call, signature in signatures(job, api):
        for name in _by_position(call, signature):
            if name in call.arguments:
                message = f"{versioned_callee(api, call)} already gets `{name}` by position"
                yield Finding(f"{call.key}.{name}", message)
        for old, new in signature.shims.items():
            if new and {old, new} <= call.arguments.keys():
                message = f"`{old}` stands for `{new}` in {versioned_callee(api, call)}, and both are given"
                yield Finding(f"{call.key}.{old}", message)


def _by_position(call: Call, signature: CallSignature) -> list[str]:
    """Return the names of the arguments that are given by position."""
    if signature.positional is None or call.own or call.via in ("parser", "file"):
        return []
    return list(signature.parameters)[: min(len(call.positional), signature.positional)]


SCRIPT = """
from transformers import TrainingArguments

args = TrainingArguments("out", output_dir="results")
"""
TOKENIZED = """
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
trainer = Trainer(model, tokenizer=tokenizer, processing_class=tokenizer)
"""

RULE = Rule(
    code="ARG114",
    name="repeated-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The signatures in the history in `catalog/api`. The first example was run with transformers 5.23: TypeError. The "
        "second was read in the wheel of transformers 4.57.6: `deprecate_kwarg(…, raise_if_both_names=True)`, ValueError."
    ),
    bad=(
        Case(script=SCRIPT, at="calls.0.output_dir"),
        Case(script=TOKENIZED, versions={"transformers": "4.57.6"}, at="trainer.tokenizer"),
    ),
    good=(
        Case(script=SCRIPT.replace('"out", ', "")),
        Case(script=TOKENIZED.replace("tokenizer=tokenizer, ", ""), versions={"transformers": "4.57.6"}),
    ),
    kinds=PROGRAMS,
)
