"""Gated dataset that the token cannot read.

## What it does
Checks whether the datasets of a job are gated, and whether the current token has access.

## Why is this bad
Everyone can see a gated dataset, but only users who requested access and got it can read its files. `load_dataset`
raises `DatasetNotFoundError: … is a gated dataset`.

## Fix safety
There is no automatic fix: request access on the dataset's page. Some owners grant it at once; for others a person
decides.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, once, repositories
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

HOW = {
    "auto": "ask for access on its page, which grants it at once, and log in with that account",
    "manual": "ask for access on its page, where a person decides, and log in with that account",
    "": "log in with an account that may read it",
}


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each closed dataset once."""
    for reference, repo in once(repositories(job, datasets)):
        if repo.exists and not repo.readable:
            yield finding(reference, f"the files of `{repo.name}` are closed to you: {HOW[repo.gated]}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: acme/patients
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/patients", split="train")
"""


def _facts(repo: Repo, key: str = "dataset", *, own_token: bool = False) -> dict[str, object]:
    reference = Reference(
        role="dataset", name="acme/patients", key=key, repo_kind="dataset", split="train", own_token=own_token
    )
    return {"datasets": (Lookup(reference, Dataset(repo=repo)),)}


SHUT = Repo(name="acme/patients", kind="dataset", gated="manual", readable=False)
OPENED = Repo(name="acme/patients", kind="dataset", gated="manual")

RULE = Rule(
    code="DAT108",
    name="closed-dataset",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `load_dataset`. Tried against a Hub on loopback: of a gated dataset it raises DatasetNotFoundError, with a token that has no "
        "access (403) and without any (401)."
    ),
    bad=(
        Case(job=JOB, facts=_facts(SHUT), at="dataset"),
        Case(script=SCRIPT, facts=_facts(SHUT, "calls.0.0"), at="calls.0.0"),
    ),
    good=(
        Case(job=JOB, facts=_facts(OPENED)),
        Case(script=SCRIPT, facts=_facts(SHUT, "calls.0.0", own_token=True)),
    ),
    kinds=ANY_KIND,
)
