"""Local data files that do not exist, are empty, or cannot be parsed.

## What it does
Checks files and folders that a program reads with `load_dataset("json", data_files=…)`, `load_dataset("./folder")`,
`Dataset.from_json(…)`, `load_from_disk(…)` and similar calls: whether they exist, whether their first rows can be
parsed, and whether the split exists. Relative paths start from the working directory or the script's folder. Skips
files that the program may write, download or test for first.

## Why is this bad
The program fails when it loads its data: `FileNotFoundError`, `DatasetGenerationError`, or for a split
`ValueError: Unknown split`.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, stands
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import DataFiles, Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, local_data: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report local data files that cannot be read."""
    for seen in local_data:
        reference = seen.reference
        if reference.certain and stands(job, reference) and seen.fact.problem:
            doubt = f", {seen.doubt}" if seen.doubt else ""
            yield finding(reference, f"{seen.fact.problem}{doubt}", severity=Severity.WARNING if doubt else None)


SCRIPT = """from datasets import load_dataset

rows = load_dataset("json", data_files="data/rows.jsonl", split="train")
"""
ABSENT = "there is no file `data/rows.jsonl`"
AT = "calls.0.data_files"


def _facts(problem: str = "", doubt: str = "", split: str = "train") -> dict[str, object]:
    name = "data/rows.jsonl"
    read = DataFiles(reader="json", splits=(("train", (name,)),))
    reference = Reference(role="dataset", name=name, key=AT, split=split, local=True, read=read)
    return {"local_data": (Lookup(reference, Dataset(columns=("text",), problem=problem), doubt=doubt),)}


RULE = Rule(
    code="DAT123",
    name="unreadable-data-files",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with datasets 5.2: a file that is not there raises FileNotFoundError, an empty one or one that does not parse "
        "DatasetGenerationError, a split that there is not ValueError."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts(ABSENT), at=AT),
        Case(script=SCRIPT, facts=_facts(ABSENT, "neither in the working directory nor beside the script"), at=AT),
        Case(script=SCRIPT, facts=_facts("data/rows.jsonl has no split `test`; it has train", split="test"), at=AT),
    ),
    good=(Case(script=SCRIPT, facts=_facts()),),
    kinds=PROGRAMS,
)
