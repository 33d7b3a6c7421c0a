"""More rows selected than the dataset has.

## What it does
Checks the number of selected rows against the number that exist: in `.select(range(…))` on the result of
`load_dataset()`, shuffled or not, and in `dataset.rows` of a job file.

## Why is this bad
`select` raises `IndexError: Index … out of range`. The script of a job file uses the rows that exist, and its run is
shorter than intended.

## Fix safety
There is no automatic fix: only you know how many rows you meant. `.take(n)` stops at the end.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from holdfast.catalog.data.only_load import KEEPING_ROWS, is_named_by, only_load
from holdfast.catalog.data.slices import count_rows
from holdfast.catalog.references import found_references
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, parse_key
from holdfast.core.job.scenario import CHOSEN

SELECTS = re.compile(rf"{KEEPING_ROWS}\.select")
RANGE = re.compile(r"range\(\s*(?:\d[\d_]*\s*,\s*)?(\d[\d_]*)\s*\)")
WISH = "dataset.rows"


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report a selection of more rows than the dataset has."""
    selected, load, wanted = list(_selected(job)), only_load(job), _wanted(job)
    for reference, dataset in found_references(job, datasets):
        rows = count_rows(reference, dataset)
        if rows is not None and wanted is not None:
            yield from _fewer_than_wanted(reference, rows, wanted)
        if rows is not None and is_named_by(reference, load):
            yield from _beyond_the_end(reference, rows, selected)


def _wanted(job: Document) -> int | None:
    """Return the number of rows that a job file asks for of one dataset; None if it does not say it."""
    is_limit = job.place(WISH).origin == CHOSEN  # of a scenario: at most so many
    is_alone = not job.get("dataset.mix", None)  # of a mixture, DAT131 looks at each part
    wanted = job.get(WISH, None) if job.kind == "job" and is_alone and not is_limit else None
    return wanted if isinstance(wanted, int) else None


def _fewer_than_wanted(reference: Reference, rows: int, wanted: int) -> Iterator[Finding]:
    if wanted > rows and reference.key in ("dataset", "dataset.path"):
        fault = f"`{reference.name}` has only {rows} rows in `{reference.split}`, and all of them are used"
        yield Finding(WISH, fault, severity=Severity.WARNING)


def _beyond_the_end(reference: Reference, rows: int, selected: Iterable[tuple[Call, int]]) -> Iterator[Finding]:
    for call, end in selected:
        if end > rows:
            fault = f"row {end - 1} is selected, but `{reference.name}` has {rows} in `{reference.split}`"
            yield Finding(call.key, fault, place=call.name_place)


def _selected(job: Document) -> Iterator[tuple[Call, int]]:
    """Yield the selections of a range that is written out, each with the row before which it ends."""
    for call in job.calls:
        place = job.places.get((*parse_key(call.key), 0))
        if (
            not SELECTS.fullmatch(call.path)
            or call.guard.tolerates("IndexError")
            or place is None
            or place.cell
            or not place.line
        ):
            continue
        lines = job.text.splitlines()
        written = lines[place.line - 1][(place.column or 1) - 1 :] if place.line <= len(lines) else ""
        if place.line == place.end_line and (found := RANGE.match(written)):
            yield call, int(found[1])


SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/chats", split="train")
some = rows.shuffle(seed=42).select(range(5_000))
"""
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/chats, rows: 5000}
"""
LOADED = Reference(role="dataset", name="acme/chats", key="calls.0.0", repo_kind="dataset", split="train")
NAMED = Reference(role="dataset", name="acme/chats", key="dataset.path", repo_kind="dataset", split="train")


def _facts(rows: int | None, reference: Reference = LOADED) -> dict[str, object]:
    return {"datasets": (Lookup(reference, Dataset(configs={"default": {"train": Split(rows=rows)}})),)}


RULE = Rule(
    code="DAT116",
    name="rows-beyond-the-end",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `Dataset.select`. Tried on ten rows: `range(11)`, `range(20)` and `range(5, 30)` raise IndexError, shuffled before or not, `range(10)` and "
        "`take(20)` do not. What a job file comes to is holdfast's own template."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts(1_200), at="calls.2"),
        Case(script=SCRIPT.replace("range(5_000)", "range(1_000, 1_500)"), facts=_facts(1_200), at="calls.2"),
        Case(job=JOB, facts=_facts(1_200, NAMED), at="dataset.rows"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts(5_000)),
        Case(script=SCRIPT, facts=_facts(None)),
        Case(script=SCRIPT.replace("range(5_000)", "range(min(5_000, len(rows)))"), facts=_facts(1_200)),
        Case(script=SCRIPT.replace("rows.shuffle(seed=42)", "rows.map(split_up, batched=True)"), facts=_facts(1_200)),
        Case(job=JOB, facts=_facts(5_000, NAMED)),
    ),
    kinds=ANY_KIND,
)
