"""Model file that cannot be read.

## What it does
Reads the model's `config.json`, `tokenizer_config.json` and `adapter_config.json`. For weights on this machine, also
checks the headers and the lengths of the safetensors files.

## Why is this bad
Loading the file raises: OSError for the config, JSONDecodeError for the tokenizer's, SafetensorError for truncated
weights. A clone made without Git LFS has a few lines of text in place of each large file.

## Fix safety
There is no automatic fix: download or copy the file again.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import base_of, is_plain
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report a model that certainly cannot be loaded."""
    base = base_of(job, model)
    if base is not None and model.problem and is_plain(job, base):
        yield base.finding(f"it cannot be loaded: {model.problem}")


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""
COMMAND = "trl sft --model_name_or_path ./tiny --dataset_name trl-lib/Capybara\n"
FILES = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
CUT = {"model": ModelFacts(files=FILES, problem="model.safetensors is truncated: 1048576 of 2097152 bytes")}

RULE = Rule(
    code="MOD117",
    name="damaged-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23 and safetensors 0.8. Tried with a tiny model, its weights damaged in nine ways and its JSON files in four: "
        "each is refused; a broken `generation_config.json` is not, and is not reported."
    ),
    bad=(
        Case(job=JOB, facts=CUT, at="model"),
        Case(command=COMMAND, facts=CUT, at="train.model_name_or_path"),
    ),
    good=(Case(job=JOB, facts={"model": ModelFacts(files=FILES)}),),
    kinds=ANY_KIND,
)
