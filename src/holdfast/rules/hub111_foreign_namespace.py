"""Push to an owner that is neither you nor one of your organizations.

## What it does
Checks the owner of the repository that a job pushes to against the user of the current token and the user's
organizations. Also reports an owner that does not exist at all.

## Why is this bad
Creating the repository fails with 403 when the trainer is built. If the repository already exists, the push fails,
after the training.

## Fix safety
There is no automatic fix: only you know who is to own the model.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.core.document import Document
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.hub import Account, PushTarget
from holdfast.core.reference import Lookup, Reference


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Object to each owner that is somebody else."""
    return refused_pushes(job, account, targets, "namespace")


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
REFUSED = Account(token=VALID, name="me", role="write", organizations={"fish": "write"})
TAKEN = Account(token=VALID, name="me", role="write", organizations={"Acme": "write"})


def _facts(account: Account, key: str = "output.push_to", name: str = "acme/capybara-sft") -> dict[str, object]:
    reference = Reference(role="target", name=name, key=key)
    return {
        "account": account,
        "targets": (Lookup(reference, PushTarget(name=name, namespace=name.partition("/")[0])),),
    }


RULE = Rule(
    code="HUB111",
    name="foreign-namespace",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo`. Tried against a Hub on loopback: for another user's name and for one that nobody has it "
        "raises 403, `You don't have the rights to create a model under the namespace`."
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
        Case(job=JOB.replace("acme/", ""), facts=_facts(REFUSED, name="capybara-sft")),
    ),
    kinds=ANY_KIND,
)
