"""Train/test split in which one part is empty.

## What it does
Computes the sizes of the parts of a `train_test_split()` on the result of `load_dataset()`, where the number of rows
is known.

## Why is this bad
The call raises ValueError for a part without rows, and for a `test_size` that is not smaller than the number of rows.

## Fix safety
There is no automatic fix: only you know how many rows to hold out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any

from holdfast.catalog.data.only_load import KEEPING_ROWS, is_named_by, only_load
from holdfast.catalog.data.slices import count_rows
from holdfast.catalog.references import found_references
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_number

SPLITS = re.compile(rf"{KEEPING_ROWS}\.train_test_split")
USUAL = 0.25


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each split in which one part is empty."""
    load, splits = only_load(job), list(filter(_is_split, job.calls))
    if load is None or not splits:
        return
    for reference, dataset in found_references(job, datasets):
        rows = count_rows(reference, dataset) if is_named_by(reference, load) else None
        if rows is not None:
            yield from _unsplittable(reference, rows, splits)


def _is_split(call: Call) -> bool:
    return SPLITS.fullmatch(call.path) is not None and not call.open and not call.guard.tolerates("ValueError")


def _unsplittable(reference: Reference, rows: int, splits: Iterable[Call]) -> Iterator[Finding]:
    for call in splits:
        size = _held_out(call)
        if size is not None and (fault := _fault(rows, size)):
            message = f"`{reference.name}` has {rows} rows in `{reference.split}`: {fault}"
            yield Finding(call.key, message, place=call.name_place)


def _held_out(call: Call) -> float | None:
    """Return the `test_size` of a call; None if it is not known, or if another argument also decides."""
    given: Any = call.arguments.get("test_size", next(iter(call.positional), USUAL))
    sized = len(call.positional) > 1 or call.arguments.get("train_size") is not None
    number = is_number(given)
    return None if sized or not number else given


def _fault(rows: int, size: float) -> str:
    """Return the problem with holding out so many rows, or such a part of them."""
    if isinstance(size, int):
        return "" if 0 < size < rows else f"{size} of them cannot be held out"
    if not 0 < size < 1:
        return ""
    return "" if ceil(size * rows) < rows else f"a `test_size` of {size:g} would leave none to train on"


SCRIPT = """from datasets import load_dataset

parts = load_dataset("acme/chats", split="train").train_test_split(test_size=0.1, seed=42)
"""


def _facts(rows: int | None) -> dict[str, object]:
    reference = Reference(role="dataset", name="acme/chats", key="calls.0.0", repo_kind="dataset", split="train")
    return {"datasets": (Lookup(reference, Dataset(configs={"default": {"train": Split(rows=rows)}})),)}


RULE = Rule(
    code="DAT117",
    name="unsplittable-rows",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `Dataset.train_test_split`. Tried: one row with 0.1, and ten with 10, 20 and 0.95 raise ValueError; two rows with 0.1 and ten "
        "with 0.05 do not."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts(1), at="calls.1"),
        Case(script=SCRIPT.replace("0.1", "500"), facts=_facts(500), at="calls.1"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts(2)),
        Case(script=SCRIPT.replace("0.1", "500"), facts=_facts(501)),
        Case(script=SCRIPT.replace("test_size=0.1", "test_size=part"), facts=_facts(1)),
    ),
    kinds=PROGRAMS,
)
