"""Model that the token cannot read.

## What it does
Checks each model, adapter and tokenizer on the Hub for whether the current token may read its files.

## Why is this bad
Everybody can see the page, but not the files: 401 or 403 at the first of them, after the environment is built. If the
owners decide about each request, access takes days.

## Fix safety
There is no automatic fix: only you can agree to the owners' terms, on the model's page, with the account whose token
the job will have. Models derived from it by others are often open.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

ASK = {
    "auto": "ask for access on its page, which grants it at once, and log in with that account",
    "manual": "ask for access on its page, where a person decides, and log in with that account",
    "": "log in with an account that may read it",
}


def check(job: Document, models: Sequence[Lookup[ModelFacts]]) -> Iterator[Finding]:
    """Report each model that exists, but that the token cannot read."""
    for reference, model in once(found_references(job, models)):
        repo = model.repo
        if repo is not None and repo.exists and not repo.readable:
            yield finding(reference, f"the files of `{reference.name}` are closed to you: {ASK[repo.gated]}")


JOB = """
method: sft
model: acme/guarded-1b
dataset: trl-lib/Capybara
"""
SCRIPT = """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("acme/guarded-1b")
"""


def _facts(reference: Reference, repo: Repo) -> dict[str, object]:
    return {"models": [Lookup(reference, ModelFacts(files=frozenset({"config.json"}), repo=repo))]}


BASE = Reference(role="model", name="acme/guarded-1b", key="model")
TOKENIZER = Reference(role="tokenizer", name="acme/guarded-1b", key="calls.0.0")

RULE = Rule(
    code="MOD109",
    name="closed-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `GatedRepoError`, and transformers 5.23. Tried against a Hub that answers 403 with "
        "`X-Error-Code: GatedRepo`: `from_pretrained` raises OSError."
    ),
    bad=(
        Case(job=JOB, facts=_facts(BASE, Repo(name=BASE.name, gated="manual", readable=False)), at="model"),
        Case(job=JOB, facts=_facts(BASE, Repo(name=BASE.name, private=True, readable=False)), at="model"),
        Case(
            script=SCRIPT, facts=_facts(TOKENIZER, Repo(name=BASE.name, gated="auto", readable=False)), at="calls.0.0"
        ),
    ),
    good=(
        Case(job=JOB, facts=_facts(BASE, Repo(name=BASE.name, gated="manual"))),
        Case(script=SCRIPT, facts=_facts(TOKENIZER, Repo(name=BASE.name, private=True))),
    ),
    kinds=ANY_KIND,
)
