"""Examples of rules about the token of a push: a job, a script and a command line that push to one repository."""

from collections.abc import Iterator
from typing import Final

from holdfast.core.check.finding import Case
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup, Reference

JOB: Final = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: {name}
"""
SCRIPT: Final = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="{name}")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
COMMAND: Final = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --push_to_hub --hub_model_id {name}\n"
ARGUMENT: Final = "train.hub_model_id"
KEY: Final = "output.push_to"


def job_case(account: Account, name: str, at: str = "") -> Case:
    """Return the case of a job file.

    Args:
        account: Whose token it is.
        name: The repository, with or without an owner.
        at: The key that the finding is about; empty if there is none.
    """
    return Case(job=JOB.format(name=name), facts=_facts(account, KEY, name), at=at)


def script_case(account: Account, name: str, at: str = "") -> Case:
    """Return the case of a script, with the arguments of `job_case`."""
    return Case(script=SCRIPT.format(name=name), facts=_facts(account, ARGUMENT, name), at=at)


def refused_cases(account: Account, name: str) -> Iterator[Case]:
    """Yield a job, a script and a command line whose push the rule objects to."""
    yield job_case(account, name, KEY)
    yield script_case(account, name, ARGUMENT)
    yield Case(command=COMMAND.format(name=name), facts=_facts(account, ARGUMENT, name), at=ARGUMENT)


def _facts(account: Account, key: str, name: str) -> dict[str, object]:
    target = PushTarget(name=name, namespace=name.partition("/")[0])
    return {"account": account, "targets": (Lookup(Reference(role="target", name=name, key=key), target),)}
