"""Sample or mixture that the data cannot give.

## What it does
Checks `dataset.sample` and `dataset.mix` of a job file against the data, as far as its columns and rows are known without reading
every row: whether the column of `dataset.by` exists, whether each dataset of a mixture can be read, and whether it has enough rows for
its weight. Streams always have enough: those that end begin again.

## Why is this bad
The job fails when it loads its data, after its environment is built.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.catalog.data.mixing import split_number
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.nearest import nearest
from holdfast.core.text.numbers import is_count, is_number

LARGEST: Final = 1e100
"""Larger weights count as this one, so that their sums are finite."""
BY, MIX, ROWS, STREAMING = "dataset.by", "dataset.mix", "dataset.rows", "dataset.streaming"


def check(job: Document, dataset: Dataset) -> Iterator[Finding]:
    """Report a column, a dataset or rows that the data does not have."""
    listed = job.get(MIX, None)
    others = listed if isinstance(listed, list) else []
    parts = _parts_by_key(dataset, len(others))
    yield from _absent_parts(others, parts)
    yield from _absent_columns(job, parts)
    if len(dataset.parts) == len(others) + 1:
        yield from _lacking_rows(job, dataset, [_weight(job.get("dataset.weight", None)), *map(_weight_of, others)])


def _parts_by_key(dataset: Dataset, others: int) -> dict[str, Dataset]:
    """Return the datasets of a mixture by the keys that name them, as far as they are known."""
    keys = ["dataset", *(f"{MIX}.{at}" for at in range(others))]
    return {key: part for key, part in zip(keys, dataset.parts or (dataset,), strict=False) if part}


def _absent_parts(others: list[Any], parts: dict[str, Dataset]) -> Iterator[Finding]:
    """Report the datasets of a mixture that cannot be read, apart from the first, which DAT102 reports."""
    for at, other in enumerate(others):
        part = parts.get(f"{MIX}.{at}")
        if part and part.problem:
            _require_seen(other, f"{MIX}.{at}")
            yield Finding(f"{MIX}.{at}", part.problem)


def _absent_columns(job: Document, named: dict[str, Dataset]) -> Iterator[Finding]:
    column = job.get(BY, None)
    for key, part in named.items() if isinstance(column, str) else ():
        if part.columns and column not in part.columns:
            near = nearest(column, part.columns)
            hint = f"; did you mean `{near}`?" if near else ""
            where = "the data" if key == "dataset" else f"`{key}`"
            yield Finding(BY, f"{where} has no column `{column}` (it has {', '.join(part.columns)}){hint}")


def _lacking_rows(job: Document, dataset: Dataset, weights: list[float]) -> Iterator[Finding]:
    wanted, streams = job.get(ROWS, None), job.get(STREAMING, None)
    _require_seen(streams, STREAMING)
    if streams or not is_count(wanted):  # streams that end begin again
        return
    for at, (part, count) in enumerate(zip(dataset.parts, split_number(wanted, weights), strict=True)):
        key = "dataset" if at == 0 else f"{MIX}.{at - 1}"
        if count == 0:
            yield Finding(
                key,
                f"of {wanted} rows in proportion to the weights, {_path_of(job, at)} would give none: its weight is {weights[at]:g}",
            )
        elif part and part.rows is not None and part.rows < count:
            message = f"{_path_of(job, at)} has {part.rows} rows, and its part of {wanted} would be {count}: lower its weight, or `{ROWS}`"
            yield Finding(key, message)


def _path_of(job: Document, at: int) -> str:
    """Return the path of a dataset of a mixture, by its place in it."""
    each = [job.get("dataset", None), *job.get(MIX, [])][at]
    return str(each.get("path") if isinstance(each, dict) else each)


def _weight_of(each: object) -> float:
    _require_seen(each, MIX)
    return _weight(each.get("weight") if isinstance(each, dict) else None)


def _weight(value: object) -> float:
    _require_seen(value, "dataset.weight")
    return float(min(value, LARGEST)) if is_number(value) and value > 0 else 1.0


def _require_seen(value: object, key: str) -> None:
    """Check that the source shows a value, and the values of a mapping.

    Raises:
        MissingFactError: It hides one.
    """
    values = value.values() if isinstance(value, dict) else [value]
    if hidden := next((each for each in values if isinstance(each, Unknown)), None):
        raise MissingFactError(key, hidden.because)


SAMPLED = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: chats.jsonl, rows: 100, sample: stratified, by: topic}
"""
MIXED = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: chats.jsonl
  rows: 100
  weight: 3
  mix: [sums.jsonl]
"""
STREAMED = MIXED.replace("rows: 100", "rows: 1000\n  streaming: true") + "train: {max_steps: 10}\n"
CHATS = Dataset(columns=("messages", "topic"), rows=80)
SUMS = Dataset(columns=("messages",), rows=80)


def _parts(*parts: Dataset | None) -> dict[str, object]:
    return {"dataset": Dataset(columns=("messages", "topic"), rows=None, parts=parts)}


RULE = Rule(
    code="DAT131",
    name="unusable-sample",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The rendered script itself, which raises these errors with datasets 5.2: "
        "`tests/engine/script/test_sampling.py` runs it on such data."
    ),
    bad=(
        Case(job=SAMPLED.replace("topic", "topics"), facts={"dataset": CHATS}, at="dataset.by"),
        Case(job=MIXED, facts=_parts(CHATS, Dataset(problem="no such file: sums.jsonl")), at="dataset.mix.0"),
        Case(job=MIXED.replace("rows: 100", "rows: 110"), facts=_parts(CHATS, SUMS), at="dataset"),
        Case(job=MIXED.replace("weight: 3", "weight: 1000"), facts=_parts(None, SUMS), at="dataset.mix.0"),
        Case(job=MIXED.replace("weight: 3", "weight: 3.0e+12"), facts=_parts(None, SUMS), at="dataset.mix.0"),
    ),
    good=(
        Case(job=SAMPLED, facts={"dataset": CHATS}),
        Case(job=MIXED, facts=_parts(CHATS, SUMS)),
        Case(job=MIXED.replace("rows: 100", "rows: 500"), facts=_parts(None, None)),
        Case(job=STREAMED, facts=_parts(CHATS, SUMS)),
        Case(job=STREAMED.replace("weight: 3", "weight: 5000"), facts=_parts(CHATS, SUMS)),
    ),
)
