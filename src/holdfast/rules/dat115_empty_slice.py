"""Split slice that holds no rows.

## What it does
Counts the rows of each slice that a job names, where the number of rows of the split is known.

## Why is this bad
A slice that begins after the last row, or that is less than half a row, raises
`ValueError: Instruction "…" corresponds to no data!`, after datasets has downloaded and prepared all of the data.

## Fix safety
There is no automatic fix: only you know which rows you meant.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.data.slices import count_rows, split_lengths
from holdfast.catalog.references import found_references, key_beside
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

NAMES = ("split", "dataset.split")
POSITION = 4
EVALUATED = "dataset.eval_split"


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each split slice without rows."""
    for reference, dataset in found_references(job, datasets):
        lengths = split_lengths(reference, dataset)
        if any(lengths.values()) and count_rows(reference, dataset) == 0:
            key, place = _place(job, reference)
            rows = " and ".join(f"`{split}` has {count} rows" for split, count in lengths.items())
            yield Finding(key, f"`{reference.split}` selects no rows of `{reference.name}`: {rows}", place=place)


def _place(job: Document, reference: Reference) -> tuple[str, Place | None]:
    return (
        (reference.key, reference.place) if reference.key == EVALUATED else key_beside(job, reference, NAMES, POSITION)
    )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/chats, split: "train[:10000]", eval_split: "train[10000:]"}
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/chats", split="train[:1%]")
"""
HELD_OUT = Reference(
    role="dataset", name="acme/chats", key="dataset.eval_split", repo_kind="dataset", split="train[10000:]"
)
LOADED = Reference(role="dataset", name="acme/chats", key="calls.0.0", repo_kind="dataset", split="train[:1%]")


def _facts(reference: Reference, rows: int | None) -> dict[str, object]:
    return {"datasets": (Lookup(reference, Dataset(configs={"default": {"train": Split(rows=rows)}})),)}


RULE = Rule(
    code="DAT115",
    name="empty-slice",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `arrow_reader`. Tried with a split of ten rows: `train[20:30]`, `train[10:]` and `train[:1%]` raise, `train[8:50]` and `train[-50:]` "
        "do not; the rows of 71 slices are compared with those that datasets takes."
    ),
    bad=(
        Case(job=JOB, facts=_facts(HELD_OUT, 9_000), at="dataset.eval_split"),
        Case(script=SCRIPT, facts=_facts(LOADED, 40), at="calls.0.split"),
    ),
    good=(
        Case(job=JOB, facts=_facts(HELD_OUT, 12_000)),
        Case(script=SCRIPT, facts=_facts(LOADED, 60)),
        Case(script=SCRIPT, facts=_facts(LOADED, None)),
    ),
    kinds=ANY_KIND,
)
