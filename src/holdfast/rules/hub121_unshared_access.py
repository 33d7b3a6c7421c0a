"""Remote job that reads a private or gated repository without a token.

## What it does
For a job file that runs on another machine, checks whether `HF_TOKEN` is among `environment.secrets`, if its model or
its data is private or gated. The current token on this machine has access.

## Why is this bad
On that machine the job has no token of its own. The Hub answers 401, and says that a gated repository needs a token,
and that a private one does not exist, on hardware that is paid for.

## Fix safety
The fix is unsafe: naming the secret passes the token on, which the job needs, but the token leaves this machine.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.catalog.environment.stated import passed_secrets
from holdfast.catalog.references import finding, once, repositories
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import JOB_FILES, Case, Finding, Fix, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document, Set
from holdfast.core.run.backends import backend_of

SECRETS, TOKEN = "environment.secrets", "HF_TOKEN"


def check(
    job: Document, datasets: Sequence[Lookup[Dataset]], models: Sequence[Lookup[ModelFacts]]
) -> Iterator[Finding]:
    """Report the first private or gated repository that the remote job cannot read."""
    passed_on = passed_secrets(job)
    given = _sets_token(job, passed_on)
    if backend_of(job).is_here or given:
        return
    for reference, repo in once(repositories(job, datasets, models)):
        if _is_closed(repo):
            kind = "private" if repo.private else "gated"
            fix = Fix(f"pass {TOKEN} on", (Set(SECRETS, [*passed_on, TOKEN]),), safe=False)
            fault = f"`{repo.name}` is {kind}, and the job gets no token there: name {TOKEN} in `{SECRETS}`"
            yield finding(reference, fault, fix)
            return


def _sets_token(job: Document, secrets: list[Any]) -> bool:
    variables = job.get("environment.variables", None)
    return TOKEN in secrets or (isinstance(variables, dict) and TOKEN in variables)


def _is_closed(repo: Repo) -> bool:
    """True if a repository can be read with the user's token, and not without one."""
    return repo.exists and repo.readable and bool(repo.private or repo.gated)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: me/chats
where:
  backend: hf-jobs
  timeout: 4h
"""


def _facts(repo: Repo) -> dict[str, object]:
    reference = Reference(role="dataset", name="me/chats", key="dataset", repo_kind="dataset", split="train")
    return {"models": (), "datasets": (Lookup(reference, Dataset(repo=repo)),)}


RULE = Rule(
    code="HUB121",
    name="unshared-access",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, and datasets 5.2, `load_dataset`. Tried against a Hub on loopback without a token: of a gated dataset it raises "
        "`You must be authenticated to access it`, of a private one that it does not exist."
    ),
    bad=(
        Case(
            job=JOB,
            facts=_facts(Repo(name="me/chats", kind="dataset", private=True)),
            at="dataset",
            fixed=JOB + "environment:\n  secrets: [HF_TOKEN]\n",
        ),
    ),
    good=(
        Case(
            job=JOB + "environment:\n  secrets: [HF_TOKEN]\n",
            facts=_facts(Repo(name="me/chats", kind="dataset", private=True)),
        ),
        Case(job=JOB, facts=_facts(Repo(name="me/chats", kind="dataset"))),
        Case(job=JOB.partition("where")[0], facts=_facts(Repo(name="me/chats", kind="dataset", gated="auto"))),
    ),
    kinds=JOB_FILES,
)
