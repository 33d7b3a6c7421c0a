"""Hub settings without `push_to_hub`.

## What it does
Checks for `hub_model_id`, `hub_strategy`, `hub_revision` or `hub_always_push` in a config of a script that does not
mention `push_to_hub`. Reports nothing for an explicit `push_to_hub=False`.

## Why is this bad
A config that names a repository is meant to put the model there. Without `push_to_hub` the trainer does not even
create the repository. The script succeeds, and the model stays on the machine that trained it; after a job, that
machine is gone.

## Fix safety
The fix is unsafe: the setting implies a push, but the push makes something public that was not.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

SETTINGS = ("hub_model_id", "hub_strategy", "hub_revision", "hub_always_push")
PUSHING = ("push_to_hub", "upload_folder(", "upload_large_folder(")


def check(job: Document) -> Iterator[Finding]:
    """Report the first Hub setting of a config without `push_to_hub`."""
    call = job.call("train")
    if call is None or call.via != "call" or any(each in job.text for each in PUSHING):
        return
    for name in SETTINGS:
        if job.get(f"train.{name}", None) not in (None, False):
            fix = Fix("push to the Hub", (Set("train.push_to_hub", value=True),), safe=False)
            fault = f"`{name}` has no effect without `push_to_hub=True`"
            yield Finding(f"train.{name}", fault, fix)
            return


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", hub_model_id="me/capybara", push_to_hub=True)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""
UNPUSHED = SCRIPT.replace(", push_to_hub=True", "")

RULE = Rule(
    code="HUB107",
    name="idle-hub-setting",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `Trainer.__init__` and `push_to_hub`. Tried with a Hub on loopback: with `hub_model_id` alone no "
        "repository is made, and a `trainer.push_to_hub()` at the end goes to the repository of that name."
    ),
    bad=(Case(script=UNPUSHED, at="train.hub_model_id", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=UNPUSHED + "trainer.push_to_hub()\n"),
        Case(script=SCRIPT.replace("True", "False")),
        Case(script=UNPUSHED.replace(', hub_model_id="me/capybara"', "")),
    ),
    kinds=PROGRAMS,
)
