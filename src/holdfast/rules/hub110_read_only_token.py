"""Push with a read-only token.

## What it does
Asks the Hub for the permissions of the current token, for a job that pushes: by `output.push_to`, by a trainer with
`push_to_hub`, or by its own `push_to_hub()` or `upload_file()`.

## Why is this bad
If the repository is new, creating it fails with 403 when the trainer is built. If it exists, creating it succeeds,
pushes during training fail silently, and the push at the end raises 403: after all the training is paid for.

## Fix safety
There is no automatic fix: create a token with write access in the Hub's settings, and save it with `hf auth login`.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.core.document import Document
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.hub import Account, PushTarget
from holdfast.core.reference import Lookup, Reference


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Object to each push that a reading token would make."""
    return refused_pushes(job, account, targets, "read-only", "create one with write access")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: me/capybara-sft
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara-sft")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --push_to_hub --hub_model_id me/capybara-sft\n"
REFUSED, TAKEN = Account(token=VALID, name="me", role="read"), Account(token=VALID, name="me", role="write")


def _facts(account: Account, key: str = "output.push_to", name: str = "me/capybara-sft") -> dict[str, object]:
    reference = Reference(role="target", name=name, key=key)
    return {
        "account": account,
        "targets": (Lookup(reference, PushTarget(name=name, namespace=name.partition("/")[0])),),
    }


RULE = Rule(
    code="HUB110",
    name="read-only-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo` and `upload_file`. Tried against a Hub on loopback with a reading token: a new repository is refused "
        "(403), `create_repo(exist_ok=True)` of one that exists passes, and the upload to it raises 403."
    ),
    bad=(
        Case(job=JOB, facts=_facts(REFUSED), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
        Case(command=COMMAND, facts=_facts(REFUSED, "train.hub_model_id"), at="train.hub_model_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(TAKEN)),
        Case(script=SCRIPT, facts=_facts(TAKEN, "train.hub_model_id")),
        Case(script=SCRIPT.replace("push_to_hub=True", "push_to_hub=False"), facts={"account": REFUSED, "targets": ()}),
    ),
    kinds=ANY_KIND,
)
