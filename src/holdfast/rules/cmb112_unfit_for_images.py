"""Settings of `SFTTrainer` that it refuses for data with images.

## What it does
Where the training data of `SFTTrainer` has a column `image` or `images`, checks for `packing`, `padding_free`, and
`truncation_mode="keep_end"` with a `max_length`, which is 1024 by default.

## Why is this bad
Rows with images are neither packed nor joined, and a row that loses its beginning loses its images. The trainer raises
ValueError, such as `Packing is not supported for vision datasets`, after the model is loaded.

## Fix safety
The fix is unsafe: it removes the setting, and the training takes more memory or other parts of long rows.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.formats.words import IMAGES
from holdfast.catalog.models.base_models import rows_are_raw, trainer_of_trl
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

READ: Final = "1.16.0"
"""The release that it was tried with."""
REFUSED: Final = {"packing": True, "padding_free": True, "truncation_mode": "keep_end"}


def check(job: Document, api: Api, dataset: Dataset) -> Iterator[Finding]:
    """Report each setting that `SFTTrainer` refuses for images."""
    if not _is_trained(job) or not rows_are_raw(job) or not since(api, "trl", READ):
        return
    column = next((name for name in IMAGES if name in dataset.readable().columns), None)
    for name in filter(partial(_is_refused, job), REFUSED if column else ()):
        fault = f"the data has a column `{column}`, and `SFTTrainer` refuses `{name}` for images: it raises ValueError"
        fix = Fix(f"go back to the default of `{name}`", (Remove(f"train.{name}"),), safe=False)
        yield Finding(f"train.{name}", fault, fix)


def _is_trained(job: Document) -> bool:
    trainer = trainer_of_trl(job)
    return job.get("method", None) == "sft" and (trainer is None or trainer.name == "SFTTrainer")


def _is_refused(job: Document, name: str) -> bool:
    """True if a job gives a setting the value that is refused; without a `max_length` nothing is truncated."""
    if job.get(f"train.{name}", None) != REFUSED[name]:
        return False
    return name != "truncation_mode" or job.get("train.max_length", 0) is not None


JOB = """
method: sft
model: acme/sees
dataset: acme/photos
train:
  learning_rate: 1.0e-4
  packing: true
"""
SCRIPT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("acme/photos", split="train")
args = SFTConfig(output_dir="out", padding_free=True, max_length=None)
trainer = SFTTrainer(model="acme/sees", args=args, train_dataset=rows)
"""
PHOTOS: Final = {"dataset": Dataset(columns=("messages", "images"))}
PAIRS: Final = {"dataset": Dataset(columns=("chosen", "rejected", "images"))}
TEXTS: Final = {"dataset": Dataset(columns=("messages",))}

RULE = Rule(
    code="CMB112",
    name="unfit-for-images",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `SFTTrainer.__init__`. Tried with it and a tiny Llava: each of the three raises ValueError; `keep_end` trains "
        "with `max_length=None`."
    ),
    bad=(
        Case(job=JOB, facts=PHOTOS, at="train.packing", fixed=JOB.replace("  packing: true\n", "")),
        Case(script=SCRIPT, facts=PHOTOS, at="train.padding_free", fixed=SCRIPT.replace(", padding_free=True", "")),
        Case(
            job=JOB.replace("packing: true", "truncation_mode: keep_end"),
            facts=PHOTOS,
            at="train.truncation_mode",
            fixed=JOB.replace("  packing: true\n", ""),
        ),
    ),
    good=(
        Case(job=JOB, facts=TEXTS),
        Case(job=JOB.replace("packing: true", "packing: false"), facts=PHOTOS),
        Case(job=JOB.replace("packing: true", "truncation_mode: keep_end\n  max_length: null"), facts=PHOTOS),
        Case(script=SCRIPT.replace("rows)", 'rows.remove_columns("images"))'), facts=TEXTS),
        Case(job=JOB.replace("sft", "dpo").replace("packing", "padding_free"), facts=PAIRS),
    ),
    kinds=ANY_KIND,
)
