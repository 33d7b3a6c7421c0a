"""`push_to_hub=True` that pushes nothing.

## What it does
For `push_to_hub=True`, checks whether anything pushes the model to the Hub: a save during training, or
`push_to_hub()` or `save_model()` afterwards. `save_strategy="no"` and `hub_strategy="end"` leave only the latter two.

## Why is this bad
The trainer pushes when it saves. With `save_strategy="no"` it never saves, and with `hub_strategy="end"` it waits for
`save_model()`, which training does not call. The repository is created and stays empty; in a job, the model is lost
with the machine.

## Fix safety
There is no automatic fix, because a statement is missing: end the script with `trainer.push_to_hub()`. It also waits
for pending pushes. Pushes during training fail silently; this one raises an error.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

PUSH = "train.push_to_hub"
# Names of calls that put files into a repository; a function of the script with such a name also counts.
PUSHING = ("push_to_hub", "save_model", "upload_folder", "upload_large_folder", "create_model_card")


def check(job: Document) -> Iterator[Finding]:
    """Report a `push_to_hub` that pushes nothing."""
    if job.get(PUSH, None) is not True or not any(call.name == "train" for call in job.calls) or _pushes(job):
        return
    if why := _reason(job):
        yield Finding(PUSH, f"{why}, so nothing is pushed: end with `trainer.push_to_hub()`")


def _pushes(job: Document) -> bool:
    """True if something of the program's own may put files into a repository."""
    return any(call.name in PUSHING for call in job.calls) or any(f".{name}(" in job.text for name in PUSHING)


def _reason(job: Document) -> str:
    """Return why the trainer itself pushes nothing; empty if it does."""
    if job.get("train.save_strategy", "steps") == "no":
        return 'with `save_strategy="no"` nothing is saved'
    waits = job.get("train.hub_strategy", "every_save") == "end"
    return '`hub_strategy="end"` waits for `save_model()`' if waits else ""


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""
NEVER = SCRIPT.replace("push_to_hub=True", 'push_to_hub=True, save_strategy="no"')

RULE = Rule(
    code="HUB104",
    name="unpushed-model",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers from 4.36 to 5.23, `Trainer._push_from_checkpoint`. Tried with 5.23 and a Hub on loopback: no commit at "
        "all for the bad examples, one or more for the good ones."
    ),
    bad=(
        Case(script=NEVER, at=PUSH),
        Case(script=SCRIPT.replace("push_to_hub=True", 'push_to_hub=True, hub_strategy="end"'), at=PUSH),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=NEVER + "trainer.push_to_hub()\n"),
        Case(script=NEVER + 'trainer.save_model("out/final")\n'),
        Case(script=NEVER.replace("push_to_hub=True, ", "")),
    ),
    kinds=PROGRAMS,
)
