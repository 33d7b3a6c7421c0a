"""Missing file of sharded weights.

## What it does
Checks the files that `model.safetensors.index.json` names against those in the model's folder or repository.

## Why is this bad
Loading raises FileNotFoundError; on the Hub after all the other files are downloaded. The usual cause is an
interrupted upload or copy.

## Fix safety
There is no automatic fix: the files must come from where the model was made.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import base_of, is_plain
from holdfast.catalog.references import some_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

WHOLE = "model.safetensors"


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report an index of weights that names a missing file."""
    base, files = base_of(job, model), model.files
    if base is None or not files or WHOLE in files or not is_plain(job, base):
        return
    if missing := sorted(model.shards - files):
        yield base.finding(f"its index names weights in files that are missing: {some_of(missing)}")


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(model="acme/cut-short", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
SHARDS = frozenset({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"})
BESIDE = {"config.json", "tokenizer.json", "model.safetensors.index.json"}
FIRST = {"model": ModelFacts(files=frozenset({*BESIDE, min(SHARDS)}), shards=SHARDS)}

RULE = Rule(
    code="MOD116",
    name="missing-shard",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: of a tiny model in five files one was taken away; `from_pretrained` and the trainers of "
        "sft, dpo, kto, grpo and rloo raise FileNotFoundError."
    ),
    bad=(
        Case(job=JOB, facts=FIRST, at="model"),
        Case(script=SCRIPT, facts=FIRST, at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts={"model": ModelFacts(files=frozenset({*BESIDE, *SHARDS}), shards=SHARDS)}),
        Case(job=JOB, facts={"model": ModelFacts(files=frozenset({*BESIDE, WHOLE}), shards=SHARDS)}),
    ),
    kinds=ANY_KIND,
)
