"""Column removed, renamed or selected that the data does not have.

## What it does
Where a program loads files or folders of this machine, checks the columns that the next calls name against those of
the data: `map(remove_columns=…)`, `remove_columns(…)`, `select_columns(…)`, `rename_column(…)`, `rename_columns(…)`
and `input_columns=…`. Skips streamed data, and everything that follows a `map`. If not every row of a JSON file was
read, reports a warning: later rows may have more columns.

## Why is this bad
`datasets` raises ValueError: "Column to remove ['inputs'] not in the dataset".

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator, Mapping, Sequence

from holdfast.catalog.data.first_calls import loading_call, severity_by_rows
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import DataFiles, Lookup, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.text.nearest import nearest

NAMING: Mapping[str, tuple[str, ...]] = {
    "map": ("remove_columns", "input_columns"),
    "filter": ("input_columns",),
    "remove_columns": ("column_names",),
    "select_columns": ("column_names",),
    "rename_column": ("original_column_name",),
    "rename_columns": ("column_mapping",),
}
"""Methods of a dataset, with the arguments that name its columns."""
FIRST = frozenset({"remove_columns", "select_columns", "rename_column", "rename_columns"})


def check(job: Document, local_data: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each column that the data lacks."""
    calls = list(filter(_names_columns, job.calls))
    if not calls:
        return
    known = {seen.reference.key.rpartition(".")[0]: seen for seen in local_data}
    for call in calls:
        loaded = loading_call(job, call)
        if loaded is not None and loaded.key in known and not call.guard.tolerates("ValueError"):
            yield from _absent(call, known[loaded.key])


def _names_columns(call: Call) -> bool:
    return call.path.startswith("datasets.") and call.name in NAMING


def _absent(call: Call, lookup: Lookup[Dataset]) -> Iterator[Finding]:
    for name, given in _named(call):
        if absent := _first_absent(given, lookup):
            near = nearest(absent, lookup.fact.columns)
            hint = f"; did you mean `{near}`?" if near else ""
            message = f"the data has no column `{absent}` (it has {', '.join(lookup.fact.columns)}){hint}"
            place = None if name in call.arguments else call.name_place
            yield Finding(f"{call.key}.{name}", message, place=place, severity=severity_by_rows(lookup))


def _first_absent(given: object, lookup: Lookup[Dataset]) -> str | None:
    """Return the first of the given columns that the data lacks; None if there is none, or if its columns are not known."""
    names = _texts(given)
    if not names or not lookup.fact.columns:
        return None
    return next((name for name in names if name not in lookup.fact.columns), None)


def _texts(given: object) -> list[str]:
    """Return the names that are given: one alone, or those in a list or a mapping."""
    names = [given] if isinstance(given, str) else given
    return [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple | dict) else []


def _named(call: Call) -> Iterator[tuple[str, object]]:
    for name in NAMING[call.name]:
        if name in call.arguments:
            yield name, call.arguments[name]
        elif call.name in FIRST and call.positional:
            yield name, call.positional[0]


SCRIPT = """
from datasets import load_dataset

rows = load_dataset("json", data_files="rows.jsonl", split="train")
rows = rows.shuffle(seed=1).map(write, remove_columns=["question", "answer"])
"""
RENAMED = SCRIPT.replace("map(write, remove_columns=[", "rename_columns({").replace(
    '"answer"])', '"answer": "completion"})'
)
RENAMED = RENAMED.replace('"question", ', '"question": "prompt", ')
LATER = SCRIPT.replace("shuffle(seed=1)", 'rename_column("reply", "answer")')


def _facts(*columns: str) -> dict[str, object]:
    read = DataFiles(reader="json", splits=(("train", ("rows.jsonl",)),))
    reference = Reference(
        role="dataset", name="rows.jsonl", key="calls.0.data_files", repo_kind="dataset", local=True, read=read
    )
    return {"local_data": (Lookup(reference, Dataset(columns=columns, rows=3)),)}


RULE = Rule(
    code="DAT124",
    name="absent-column",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Each call was run with datasets 5.2, on a `Dataset` and on a `DatasetDict` of a JSON file: ValueError. Of a streamed "
        "dataset nothing was tried."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts("question", "reply"), at="calls.2.remove_columns"),
        Case(script=RENAMED, facts=_facts("question", "reply"), at="calls.2.column_mapping"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts("question", "answer")),
        Case(script=RENAMED, facts=_facts("question", "answer", "more")),
        Case(script=LATER, facts=_facts("question", "reply")),
        Case(
            script=SCRIPT.replace('split="train"', 'split="train", streaming=True'), facts=_facts("question", "reply")
        ),
    ),
    kinds=PROGRAMS,
)
