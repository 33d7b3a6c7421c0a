"""Hub dataset that needs a loading script.

## What it does
With datasets 4.0 or newer, checks whether a dataset repository holds a script of its own name, which datasets would
have to run.

## Why is this bad
datasets no longer runs scripts to load data: it raises `RuntimeError: Dataset scripts are no longer supported`, also
with `trust_remote_code=True`.

## Fix safety
There is no automatic fix: the Hub has often created a copy as Parquet, which `revision="refs/convert/parquet"` reads.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

RETIRED = "4.0.0"


def check(job: Document, api: Api, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each dataset that needs a loading script, once."""
    if not since(api, "datasets", RETIRED):
        return
    for reference, dataset in once(found_references(job, datasets)):
        if dataset.scripted:
            version = api.versions["datasets"]
            fault = f"`{reference.name}` is a dataset script, which datasets {version} does not run; try revision `refs/convert/parquet`"
            yield finding(reference, fault)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: acme/old-news
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/old-news", split="train")
"""


def _facts(key: str, *, scripted: bool) -> dict[str, object]:
    reference = Reference(role="dataset", name="acme/old-news", key=key, repo_kind="dataset", split="train")
    return {"datasets": (Lookup(reference, Dataset(scripted=scripted)),)}


RULE = Rule(
    code="DAT112",
    name="scripted-dataset",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 3.6 and 4.0, `load.py`. Tried with 5.2 against a Hub on loopback: a repository `acme/script` with a `script.py` raises "
        "RuntimeError, with `trust_remote_code=True` too; a program of another name is passed over."
    ),
    bad=(
        Case(job=JOB, facts=_facts("dataset", scripted=True), at="dataset"),
        Case(script=SCRIPT, facts=_facts("calls.0.0", scripted=True), at="calls.0.0"),
    ),
    good=(
        Case(job=JOB, facts=_facts("dataset", scripted=False)),
        Case(script=SCRIPT, facts=_facts("calls.0.0", scripted=True), versions={"datasets": "3.6.0"}),
    ),
    kinds=ANY_KIND,
)
