"""Fine-grained token without write permission for the target of a push.

## What it does
Checks the permissions of a fine-grained token, for a job that pushes: `repo.write` for the repository, or for the
user or the organization that owns it.

## Why is this bad
Creating the repository fails with 403, or, if it exists, the push fails after the training. The problem is easy to
miss, because the token works elsewhere.

## Fix safety
There is no automatic fix: add the permission to the token in the Hub's settings.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.core.document import Document
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.hub import Account, PushTarget
from holdfast.core.reference import Lookup, Reference


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Object to each push that the token does not stretch to."""
    return refused_pushes(job, account, targets, "scope", "give it `Write access to contents` there")


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
GIVEN = frozenset({"repo.content.read", "repo.write"})
REFUSED = Account(
    token=VALID,
    name="me",
    role="fineGrained",
    organizations={"acme": "write"},
    scopes={"me": GIVEN, "acme": frozenset({"repo.content.read"})},
)
TAKEN = Account(token=VALID, name="me", role="fineGrained", organizations={"acme": "write"}, scopes={"acme": GIVEN})


def _facts(account: Account, key: str = "output.push_to", name: str = "acme/capybara-sft") -> dict[str, object]:
    reference = Reference(role="target", name=name, key=key)
    return {
        "account": account,
        "targets": (Lookup(reference, PushTarget(name=name, namespace=name.partition("/")[0])),),
    }


RULE = Rule(
    code="HUB112",
    name="unscoped-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `whoami` and `create_repo`; the Hub's documentation of fine-grained tokens. Tried against a Hub on loopback with a "
        "token for one organization: there an upload passes, and for the user's own name it raises 403."
    ),
    bad=(
        Case(job=JOB, facts=_facts(REFUSED), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
        Case(command=COMMAND, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(TAKEN)),
        Case(script=SCRIPT, facts=_facts(TAKEN, "train.hub_model_id")),
        Case(job=JOB.replace("acme/", "me/"), facts=_facts(REFUSED, name="me/capybara-sft")),
    ),
    kinds=ANY_KIND,
)
