"""A key under `peft` or `quantization` that `LoraConfig` or `BitsAndBytesConfig` does not take.

## What it does
Compares each key under `peft` with the arguments of `peft.LoraConfig`, and each under `quantization` with those of
`transformers.BitsAndBytesConfig`.

## Why is this bad
`LoraConfig` raises TypeError. `BitsAndBytesConfig` swallows what it does not know without a word, and quantizes by its
defaults instead: `bnb_4bit_quant: nf4` gives fp4.

## Fix safety
`rank`, `lora_r`, `alpha` and `dropout` are other libraries' names for the same: safe. The nearest name is a guess:
unsafe.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from holdfast.catalog.train_arguments import arguments
from holdfast.core.document import ABSENT, Document, Rename
from holdfast.core.finding import Case, Finding, Fix, Rule, Severity

CLASSES = {"peft": "LoraConfig", "quantization": "BitsAndBytesConfig"}
SAME = {"alpha": "lora_alpha", "dropout": "lora_dropout", "lora_r": "r", "lora_rank": "r", "rank": "r"}


def check(job: Document) -> Iterator[Finding]:
    """Object to each key that its class does not know."""
    for part, config in CLASSES.items():
        written = job.get(part, {})
        for name in written if isinstance(written, Mapping) else ():
            if name not in arguments(part):
                yield _unknown(job, part, str(name), config)


def _unknown(job: Document, part: str, name: str, config: str) -> Finding:
    key = f"{part}.{name}"
    nearest = [SAME[name]] if name in SAME else get_close_matches(name, arguments(part), n=1, cutoff=0.7)
    hint = f": did you mean `{nearest[0]}`?" if nearest else ""
    fix = None
    if nearest and job.get(f"{part}.{nearest[0]}") is ABSENT:
        fix = Fix(f"rename `{name}` to `{nearest[0]}`", (Rename(key, nearest[0]),), safe=name in SAME)
    return Finding(key, f"`{config}` has no argument `{name}`{hint}", fix)


RANK = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
peft: {rank: 16, lora_alpha: 32}
quantization: {load_in_4bit: true, bnb_4bit_quant_type: nf4}
"""
R = RANK.replace("rank", "r")
QUANT = R.replace("bnb_4bit_quant_type", "bnb_4bit_quanttype")

RULE = Rule(
    code="ARG103",
    name="unknown-adapter-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The signatures of `LoraConfig` (peft 0.21) and `BitsAndBytesConfig` (transformers 5.23), read from the installed "
        "libraries into the catalog. Tried: TypeError from the first, a config without the setting from the second."
    ),
    bad=(
        Case(job=RANK, at="peft.rank", fixed=R),
        Case(job=QUANT, at="quantization.bnb_4bit_quanttype", fixed=R),
        Case(job=R.replace("r: 16", "method: lora"), at="peft.method"),
    ),
    good=(Case(job=R), Case(job=RANK.split("peft", maxsplit=1)[0])),
)
