"""Token that the Hub does not accept.

## What it does
Asks the Hub which user the current token belongs to, if the job reads from the Hub or writes to it with that token.

## Why is this bad
The Hub refuses a deleted or expired token for everything, including public files that need none: the job ends with
401 when it loads its model or its data.

## Fix safety
There is no automatic fix: `hf auth login` saves a new token. `HF_TOKEN` in the environment takes precedence over a
saved one.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import ABSENT, REFUSED, VALID
from holdfast.catalog.references import finding, stands
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(
    job: Document,
    account: Account,
    targets: Sequence[Lookup[PushTarget]],
    datasets: Sequence[Lookup[Dataset]],
    models: Sequence[Lookup[ModelFacts]],
) -> Iterator[Finding]:
    """Report the token once, at the first setting that needs it."""
    if account.token != REFUSED:
        return
    references = (each.reference for each in (*targets, *datasets, *models))
    first = next((each for each in references if each.certain and not each.own_token and stands(job, each)), None)
    if first is not None:
        fault = f"the Hub refuses the current token, so the job cannot use `{first.name}`: run `hf auth login`, or set another HF_TOKEN"
        yield finding(first, fault)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capybara", split="train")
"""
DATA = Reference(role="dataset", name="trl-lib/Capybara", key="dataset", repo_kind="dataset", split="train")
LOADED = Reference(role="dataset", name="trl-lib/Capybara", key="calls.0.0", repo_kind="dataset", split="train")
NOTHING: dict[str, object] = {"targets": (), "datasets": (), "models": ()}


def _facts(reference: Reference, account: Account) -> dict[str, object]:
    seen: Lookup[Dataset] = Lookup(reference, None, "the Hub refuses the token")
    return {**NOTHING, "datasets": (seen,), "account": account}


RULE = Rule(
    code="HUB109",
    name="refused-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4 sends the token with every request. Tried against a Hub on loopback that refuses it: `hf_hub_download`, "
        "`load_dataset` of datasets 5.2 and `create_repo` raise HfHubHTTPError (401), for what is public too; with `token=False` it is read."
    ),
    bad=(
        Case(job=JOB, facts=_facts(DATA, Account(token=REFUSED)), at="dataset"),
        Case(script=SCRIPT, facts=_facts(LOADED, Account(token=REFUSED)), at="calls.0.0"),
    ),
    good=(
        Case(job=JOB, facts=_facts(DATA, Account(token=VALID))),
        Case(job=JOB, facts=_facts(DATA, Account(token=ABSENT))),
        Case(script="import datasets\n", facts={**NOTHING, "account": Account(token=REFUSED)}),
    ),
    kinds=ANY_KIND,
)
