"""Row key read by a function, but missing from the data.

## What it does
Where a program loads files or folders of this machine, or creates rows itself (`Dataset.from_list`, `from_dict`),
checks the keys that a function of `map` or `filter` certainly reads against the columns: `row["txt"]` where the
column is `text`. Skips everything that follows a `map`, and keys that the function reads in or after a branch. If not
every row of a JSON file was read, reports a warning: later rows may have more columns.

## Why is this bad
`map` raises `KeyError: 'txt'` at the first row.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.catalog.data.first_calls import IN_MEMORY, loading_call, severity_by_rows
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import DataFiles, Lookup, Reference
from holdfast.core.job.calls import Call, LocalName
from holdfast.core.job.document import Document
from holdfast.core.text.nearest import nearest

METHODS: Final = frozenset({"map", "filter"})
FUNCTION: Final = "function"


def check(job: Document, local_data: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each function that reads a key which no row has."""
    known = {seen.reference.key.rpartition(".")[0]: seen for seen in local_data}
    for call in job.calls:
        function = _row_function(call)
        loaded = loading_call(job, call) if function else None
        if function and loaded and not call.open and not call.guard.tolerates("KeyError"):
            columns, severity = _columns(loaded, known.get(loaded.key))
            yield from _absent(call, function, columns, severity)


def _row_function(call: Call) -> LocalName | None:
    """Return the function that a call maps over rows, if it surely reads keys of them; None for any other call."""
    if call.name not in METHODS or not call.path.startswith("datasets."):
        return None
    given = call.arguments.get(FUNCTION, next(iter(call.positional), None))
    if not isinstance(given, LocalName) or "input_columns" in call.arguments:
        return None
    return given if given.reads else None


def _columns(loaded: Call, lookup: Lookup[Dataset] | None) -> tuple[Sequence[str], Severity | None]:
    """Return the columns of what a call loads, none if they are not known; and how bad it is to read another."""
    if loaded.name in IN_MEMORY:
        return _written_columns(loaded), None
    return (lookup.fact.columns, severity_by_rows(lookup)) if lookup else ((), None)


def _written_columns(loaded: Call) -> tuple[str, ...]:
    """Return the columns of rows that the program writes, of a list those of its first row; none if they are not known."""
    rows = next(iter(loaded.positional), None)
    first = rows[0] if isinstance(rows, list) and rows else rows
    known = (
        isinstance(first, Mapping)
        and all(isinstance(name, str) for name in first)
        and "features" not in loaded.arguments
    )
    return tuple(first) if known and isinstance(first, Mapping) else ()


def _absent(call: Call, given: LocalName, columns: Sequence[str], severity: Severity | None) -> Iterator[Finding]:
    absent = next((key for key in given.reads if key not in columns), None) if columns else None
    if absent is None:
        return
    near = nearest(absent, tuple(columns))
    hint = f"; did you mean `{near}`?" if near else ""
    message = f'`{given.name}` reads `["{absent}"]`, and the data has {", ".join(columns)}{hint}'
    place = None if FUNCTION in call.arguments else call.name_place
    yield Finding(f"{call.key}.{FUNCTION}", message, place=place, severity=severity)


SCRIPT = """
from datasets import load_dataset

rows = load_dataset("json", data_files="rows.jsonl", split="train")


def write(row):
    return {"text": row["question"] + row["answer"]}


rows = rows.shuffle(seed=1).map(write)
"""
LISTED = """
from datasets import Dataset

rows = Dataset.from_list([{"text": "one"}, {"text": "two"}])
rows = rows.map(lambda row: {"prompt": row["text"]})
"""


def _facts(*columns: str) -> dict[str, object]:
    read = DataFiles(reader="json", splits=(("train", ("rows.jsonl",)),))
    reference = Reference(
        role="dataset", name="rows.jsonl", key="calls.0.data_files", repo_kind="dataset", local=True, read=read
    )
    return {"local_data": (Lookup(reference, Dataset(columns=columns, rows=3)),)}


NONE: dict[str, object] = {"local_data": ()}
RULE = Rule(
    code="DAT126",
    name="absent-row-key",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="datasets 5.2, `map` and `filter` of a list and of a JSON file, also with `batched=True`, tried: KeyError.",
    bad=(
        Case(script=SCRIPT, facts=_facts("question", "reply"), at="calls.2.function"),
        Case(script=LISTED.replace('row["text"]', 'row["txt"]'), facts=NONE, at="calls.1.function"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts("question", "answer")),
        Case(script=SCRIPT.replace('+ row["answer"]', 'or row["answer"]'), facts=_facts("question", "reply")),
        Case(script=SCRIPT.replace('row["answer"]', 'row.get("answer", "")'), facts=_facts("question", "reply")),
        Case(
            script=SCRIPT.replace("shuffle(seed=1)", 'rename_column("reply", "answer")'),
            facts=_facts("question", "reply"),
        ),
        Case(script=LISTED, facts=NONE),
        Case(
            script=LISTED.replace('row["text"]', 'row["txt"]').replace("[{", "read([{").replace("}])", "}]))"),
            facts=NONE,
        ),
    ),
    kinds=PROGRAMS,
)
