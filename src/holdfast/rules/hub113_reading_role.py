"""Push to an organization in which the user has a read-only role.

## What it does
Checks the user's role in the organization that a job pushes to.

## Why is this bad
Creating the repository fails with 403, or, if it exists, the push fails after the training.

## Fix safety
There is no automatic fix: an admin of the organization can assign the role `write` or `contributor`.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.core.document import Document
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.hub import Account, PushTarget
from holdfast.core.reference import Lookup, Reference


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Object to each organization in which the user does not write."""
    return refused_pushes(job, account, targets, "role", "ask one of its admins")


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
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --push_to_hub --hub_model_id acme/capybara-sft\n"
REFUSED = Account(token=VALID, name="me", role="write", organizations={"acme": "read"})
TAKEN = Account(token=VALID, name="me", role="write", organizations={"acme": "contributor"})


def _facts(account: Account, key: str = "output.push_to", name: str = "acme/capybara-sft") -> dict[str, object]:
    reference = Reference(role="target", name=name, key=key)
    return {
        "account": account,
        "targets": (Lookup(reference, PushTarget(name=name, namespace=name.partition("/")[0])),),
    }


RULE = Rule(
    code="HUB113",
    name="reading-role",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `whoami` and `create_repo`; the Hub's documentation of roles. Tried against a Hub on loopback: the role `read` may make "
        "no repository (403), `contributor` may."
    ),
    bad=(
        Case(job=JOB, facts=_facts(REFUSED), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
        Case(command=COMMAND, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(TAKEN)),
        Case(script=SCRIPT, facts=_facts(TAKEN, "train.hub_model_id")),
        Case(job=JOB, facts=_facts(Account(token=VALID, name="me", role="write", organizations={"acme": "admin"}))),
    ),
    kinds=ANY_KIND,
)
