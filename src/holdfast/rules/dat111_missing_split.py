"""Split that the dataset does not have.

## What it does
Checks the splits that a job names against those of the dataset in the chosen configuration: `dataset.split` and
`dataset.eval_split` (a job file that names no split trains on `train`), the `split` of `load_dataset`, and the splits
of a TRL command.

## Why is this bad
datasets raises `ValueError: Unknown split`, or `Bad split` for a stream, after it has downloaded and prepared all of
the data. A TRL command raises KeyError.

## Fix safety
There is no automatic fix: only you know which part of the data you meant.
"""

from collections.abc import Container, Iterator, Sequence

from holdfast.catalog.data.slices import ALL, read_slices
from holdfast.catalog.references import found_references, key_beside, some_of
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

NAMES = ("split", "dataset_train_split", "dataset.split")
POSITION = 4
EVALUATED = ("dataset.eval_split", "dataset_test_split")


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each split that the dataset does not have."""
    for reference, dataset in found_references(job, datasets):
        there = dataset.configs.get(reference.config or dataset.default_config or "", {})
        if not there or reference.files or reference.split is None:
            continue
        if missing := _missing(reference.split, there):
            key, place = _place(job, reference)
            fault = f"`{reference.name}` has no split {some_of(missing)}; it has {some_of(there)}"
            yield Finding(key, fault, place=place)


def _missing(split: str, there: Container[str]) -> list[str]:
    """Return the splits of which slices are taken, and which are not there."""
    names = dict.fromkeys(part.split for part in read_slices(split))
    return [name for name in names if name not in there and name != ALL]


def _place(job: Document, reference: Reference) -> tuple[str, Place | None]:
    return (
        (reference.key, reference.place)
        if reference.key.endswith(EVALUATED)
        else key_beside(job, reference, NAMES, POSITION)
    )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/chats, split: train, eval_split: validation}
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/chats", split="validation[:10%]")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name acme/chats --dataset_train_split train_sft\n"
EVALUATION = Reference(
    role="dataset", name="acme/chats", key="dataset.eval_split", repo_kind="dataset", split="validation"
)
LOADED = Reference(role="dataset", name="acme/chats", key="calls.0.0", repo_kind="dataset", split="validation[:10%]")
GIVEN = Reference(role="dataset", name="acme/chats", key="train.dataset_name", repo_kind="dataset", split="train_sft")


def _facts(reference: Reference, *splits: str) -> dict[str, object]:
    return {"datasets": (Lookup(reference, Dataset(configs={"default": dict.fromkeys(splits, Split())})),)}


RULE = Rule(
    code="DAT111",
    name="missing-split",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `arrow_reader` and `DatasetBuilder.as_streaming_dataset`; trl 1.16, `scripts/sft.py`. Tried with a folder on disk and against a "
        "Hub on loopback: 12 splits, sums and slices, of which exactly those that name a missing one raise this; capitals count."
    ),
    bad=(
        Case(job=JOB, facts=_facts(EVALUATION, "train", "test"), at="dataset.eval_split"),
        Case(script=SCRIPT, facts=_facts(LOADED, "train", "test"), at="calls.0.split"),
        Case(command=COMMAND, facts=_facts(GIVEN, "train", "test"), at="train.dataset_train_split"),
    ),
    good=(
        Case(job=JOB, facts=_facts(EVALUATION, "train", "validation")),
        Case(script=SCRIPT, facts=_facts(LOADED, "train", "validation")),
        Case(script=SCRIPT.replace("validation[:10%]", "all"), facts={"datasets": ()}),
        Case(job=JOB, facts=_facts(EVALUATION)),
    ),
    kinds=ANY_KIND,
)
