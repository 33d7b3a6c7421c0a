"""`max_length` that packing or padding-free training cannot use.

## What it does
Checks `SFTTrainer` for `packing` without a `max_length`, and for `padding_free` with a `max_length` but without
`packing`.

## Why is this bad
Packing fills rows up to `max_length`: without it, preparing the data raises ValueError. Rows that are not padded are
not truncated either, so from TRL 1.0 on `padding_free` with a `max_length` (1024 by default) raises ValueError unless
rows are packed. Both errors come after the model is loaded.

## Fix safety
The fix is unsafe because only you know which you meant. It either restores the default `max_length` of 1024, or
removes the limit, and then long rows may take more memory than there is.
"""

from collections.abc import Callable, Iterator
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.constructions import trained
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Edit, Remove, Set

TRAINER = "trl.trainer.sft_trainer.SFTTrainer"
SETTINGS = ("packing", "padding_free", "max_length")
NAMED = "0.20.0"  # until then it was `max_seq_length` too
ENFORCED = "1.0.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a `max_length` that is missing, or that has no effect."""
    if job.kind == "job":
        if job.get("method") == "sft":
            yield from _judged("train", lambda name: setting(job, name), api)
        return
    for trainer, config, held in trained(job, api, TRAINER):
        if trainer.guard.tolerates("ValueError"):
            continue
        found = list(_judged(config, held.get, api))
        yield from found
        if job.kind == "command" and not found:
            for name in SETTINGS:
                job.get(f"{config}.{name}", None)  # a hidden value may be a wrong one


def _judged(key: str, value: Callable[[str], Any], api: Api) -> Iterator[Finding]:
    packing, longest = value("packing"), value("max_length")
    prepared = value("dataset_kwargs") in (None, {}, ABSENT)
    if packing is True and longest is None and prepared and since(api, "trl", NAMED):
        fault = "packed rows are filled up to `max_length`, which is None"
        yield _finding(f"{key}.max_length", fault, "go back to the default of 1024", Remove(f"{key}.max_length"))
    free = value("padding_free") is True and packing is False
    if free and isinstance(longest, int) and since(api, "trl", ENFORCED):
        fault = f"`max_length` ({longest}) has no effect where rows are neither padded nor packed"
        yield _finding(f"{key}.padding_free", fault, "keep rows as long as they are", Set(f"{key}.max_length", None))


def _finding(key: str, fault: str, title: str, edit: Edit) -> Finding:
    return Finding(key, fault, Fix(title, (edit,), safe=False))


PACKED = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B",
    args=SFTConfig(output_dir="out", packing=True, max_length=None),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
)
"""
FREE = PACKED.replace("packing=True, max_length=None", "padding_free=True")
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara"
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  packing: true
  max_length: null
"""

RULE = Rule(
    code="CMB104",
    name="unusable-max-length",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source=(
        "trl 1.16, `SFTTrainer.__init__` and `_prepare_dataset`; the releases from which it holds were read from the wheels. "
        "Tried with a tiny model and a few rows: ValueError while the trainer is built."
    ),
    bad=(
        Case(script=PACKED, at="train.max_length", fixed=PACKED.replace(", max_length=None", "")),
        Case(script=FREE, at="train.padding_free", fixed=FREE.replace("free=True", "free=True, max_length=None")),
        Case(
            command=COMMAND + " --padding_free\n",
            at="train.padding_free",
            fixed=COMMAND + " --padding_free --max_length None\n",
        ),
        Case(
            command=COMMAND + " --packing --max_length None\n", at="train.max_length", fixed=COMMAND + " --packing \n"
        ),
        Case(job=JOB, at="train.max_length", fixed=JOB.replace("  max_length: null\n", "")),
    ),
    good=(
        Case(script=PACKED.replace("max_length=None", "max_length=2048")),
        Case(script=PACKED.replace("packing=True, ", "")),
        Case(script=FREE.replace("padding_free=True", "padding_free=True, packing=True")),
        Case(script=FREE, versions={"trl": "0.19.1", "transformers": "4.53.3"}),
        Case(job=JOB.replace("null", "512")),
        Case(command=COMMAND + " --packing --padding_free\n"),
        Case(command=COMMAND + " --padding_free --max_length None\n"),
        Case(command=COMMAND + " --max_length None\n"),
    ),
)
