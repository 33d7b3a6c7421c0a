"""Images in the data of a model without vision.

## What it does
Where the training data has a column `image` or `images`, checks the model for a vision part: a `vision_config`, or
the config of a processor.

## Why is this bad
SFT, DPO and KTO raise ValueError, `the provided model does not seem to be a vision-language model`, after the model
is loaded; GRPO and RLOO raise KeyError, `pixel_values`, at the first step. The error occurs even if the column is
empty.

## Fix safety
There is no automatic fix: use a vision model, or remove the column: `rows.remove_columns("images")`.
"""

from collections.abc import Iterator

from holdfast.catalog.formats.words import IMAGES
from holdfast.catalog.models.base_models import GENERATING, base_of, rows_are_raw, uses_own_tokenizer
from holdfast.catalog.models.vision import is_vision
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

PROCESSORS = {"processor_config.json", "preprocessor_config.json"}


def check(job: Document, model: ModelFacts, dataset: Dataset) -> Iterator[Finding]:
    """Report images for a model without vision."""
    base = base_of(job, model)
    if base is None or model.config is None or job.get("method", None) not in GENERATING:
        return
    column = next((name for name in IMAGES if name in dataset.readable().columns), None)
    if column and not _takes_images(model) and rows_are_raw(job) and uses_own_tokenizer(job, base):
        yield base.finding(
            f"the data has a column `{column}`, but the model takes no images: use one that does, or remove the column"
        )


def _takes_images(model: ModelFacts) -> bool:
    return is_vision(model.config or {}) or not PROCESSORS.isdisjoint(model.files or ())


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: acme/photos
"""
SCRIPT = """from datasets import load_dataset
from trl import DPOConfig, DPOTrainer

rows = load_dataset("acme/photos", split="train")
trainer = DPOTrainer(model="acme/small", args=DPOConfig(output_dir="out"), train_dataset=rows)
"""
FILES = frozenset({"config.json", "model.safetensors", "tokenizer.json"})


def _facts(*columns: str, vision: bool = False) -> dict[str, object]:
    blind = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    config = (
        {"architectures": ["Qwen2VLForConditionalGeneration"], "model_type": "qwen2_vl", "vision_config": {}}
        if vision
        else blind
    )
    return {"model": ModelFacts(files=FILES, config=config), "dataset": Dataset(columns=columns)}


RULE = Rule(
    code="MOD131",
    name="images-without-vision",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny Qwen2, rows with one image and with a list of one: sft, dpo and kto raise ValueError, grpo and rloo "
        "KeyError; reward passes the column over, and trains."
    ),
    bad=(
        Case(job=JOB, facts=_facts("messages", "images"), at="model"),
        Case(script=SCRIPT, facts=_facts("chosen", "rejected", "image"), at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts=_facts("messages", "images", vision=True)),
        Case(job=JOB, facts=_facts("messages")),
        Case(job=JOB.replace("sft", "reward"), facts=_facts("chosen", "rejected", "images")),
        Case(
            script=SCRIPT.replace('split="train")', 'split="train").remove_columns("image")'),
            facts=_facts("chosen", "rejected"),
        ),
    ),
    kinds=ANY_KIND,
)
