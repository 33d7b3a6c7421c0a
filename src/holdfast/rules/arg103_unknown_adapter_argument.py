"""Argument that an adapter config or quantization config does not take.

## What it does
Checks the arguments of `peft.LoraConfig` and similar classes, and of `transformers.BitsAndBytesConfig`, against those
that the classes take in the versions that the job will use. In a job file, checks each key under `peft` and
`quantization`.

## Why is this bad
`LoraConfig` raises TypeError. `BitsAndBytesConfig` ignores unknown arguments with only a line in the log, and
quantizes with its defaults: `bnb_4bit_quant="nf4"` gives fp4.

## Fix safety
The fix is safe for `rank`, `lora_r`, `alpha` and `dropout`, which are other libraries' names for the same arguments.
It is unsafe where it writes the nearest name, which is a guess.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that the adapter's or the quantization's config does not take."""
    for each in refused_arguments(job, api, ArgumentChange.ADAPTER):
        milder = each.silent and each.call.via != "file"
        message = f"{each.message} (accepted, but ignored)" if each.silent else each.message
        yield Finding(each.key, message, each.fix, Severity.WARNING if milder else None)


RANK = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
peft: {rank: 16, lora_alpha: 32}
quantization: {load_in_4bit: true, bnb_4bit_quant_type: nf4}
"""
R = RANK.replace("rank", "r")
QUANT = R.replace("bnb_4bit_quant_type", "bnb_4bit_quanttype")

SCRIPT = """
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

lora = LoraConfig(rank=16, lora_alpha=32)
quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=quantization)
"""
SCRIPT_R = SCRIPT.replace("rank", "r")
SCRIPT_QUANT = SCRIPT_R.replace("bnb_4bit_quant_type", "bnb_4bit_quanttype")

RULE = Rule(
    code="ARG103",
    name="unknown-adapter-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`. Tried with peft 0.21 and transformers 5.23: TypeError from `LoraConfig`, "
        "a config without the setting from `BitsAndBytesConfig`."
    ),
    bad=(
        Case(job=RANK, at="peft.rank", fixed=R),
        Case(job=QUANT, at="quantization.bnb_4bit_quanttype", fixed=R),
        Case(job=R.replace("r: 16", "method: lora"), at="peft.method"),
        Case(script=SCRIPT, at="calls.0.rank", fixed=SCRIPT_R),
        Case(script=SCRIPT_QUANT, at="calls.1.bnb_4bit_quanttype", fixed=SCRIPT_R),
    ),
    good=(Case(job=R), Case(job=RANK.split("peft", maxsplit=1)[0]), Case(script=SCRIPT_R)),
    kinds=ANY_KIND,
)
