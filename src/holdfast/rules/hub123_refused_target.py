"""Repository that the Hub does not let the current token write to.

## What it does
If the repository that a job pushes to exists, asks the Hub whether the token may write to it. Reports the repository
only if nothing known about the account explains the refusal: for example, a contributor's push to a repository of the
organization that another member created.

## Why is this bad
Creating the repository succeeds, because it exists. Pushes during training fail silently, and the push at the end
raises 403: after all the training is paid for.

## Fix safety
There is no automatic fix: push to another repository, or ask its owners for write access.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refusal
from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each repository that the Hub closes for a reason other than the account's own."""
    if account.token != VALID:
        return
    for reference, target in once(found_references(job, targets)):
        if target.writable == "no" and refusal(account, target.name) is None:
            yield finding(reference, f"`{target.name}` cannot be written to: {target.because}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: acme/capybara-sft
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="acme/capybara-sft")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
ACCOUNT = Account(token=VALID, name="me", role="write", organizations={"acme": "contributor"})


def _facts(target: PushTarget, key: str = "output.push_to", account: Account = ACCOUNT) -> dict[str, object]:
    reference = Reference(role="target", name=target.name, key=key)
    return {"account": account, "targets": (Lookup(reference, target),)}


REFUSED = PushTarget(
    name="acme/capybara-sft",
    namespace="acme",
    repo=Repo(name="acme/capybara-sft"),
    writable="no",
    because="the Hub does not let me write to it with this token",
)
TAKEN = PushTarget(name="acme/capybara-sft", namespace="acme", repo=Repo(name="acme/capybara-sft"), writable="yes")

RULE = Rule(
    code="HUB123",
    name="refused-target",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo` and `upload_file`. Tried against a Hub on loopback as a contributor, for a repository of the organization "
        "that another made: `create_repo(exist_ok=True)` passes, and the upload raises 403."
    ),
    bad=(
        Case(job=JOB, facts=_facts(REFUSED), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(TAKEN)),
        Case(job=JOB, facts={"account": Account(token=VALID, name="me", role="write"), "targets": ()}),
    ),
    kinds=ANY_KIND,
)
