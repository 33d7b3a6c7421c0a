"""Script that resumes from a Hub checkpoint, but never pushes one.

## What it does
Checks for a script that downloads `last-checkpoint` or `checkpoint-…` from the Hub, and whose config pushes with
`hub_strategy="every_save"`, which is the default, or `"end"`.

## Why is this bad
`every_save` pushes the model at each save: weights, tokenizer, config. It pushes no checkpoint, and neither the
optimizer's state nor the step. If the job is interrupted, there is nothing to resume from, and it starts from the
beginning.

## Fix safety
The fix is unsafe: `hub_strategy="checkpoint"` pushes the folder `last-checkpoint` with everything that resuming
needs, which takes more time and space.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

STRATEGY = "train.hub_strategy"
DOWNLOADS = ("snapshot_download", "hf_hub_download")
FOLDERS = ("last-checkpoint", "checkpoint-")


def check(job: Document) -> Iterator[Finding]:
    """Report a push that does not include the checkpoint which the script downloads later."""
    wanted = [call for call in job.calls if call.name in DOWNLOADS and _references(call.arguments)]
    if not wanted or job.get("train.push_to_hub", None) is not True:
        return
    strategy = job.get(STRATEGY, "every_save")
    if strategy in ("every_save", "end"):
        fix = Fix("push the last checkpoint", (Set(STRATEGY, "checkpoint"),), safe=False)
        fault = f"`hub_strategy` {strategy!r} pushes no checkpoint, but the script reads one from the Hub"
        yield Finding("train.push_to_hub" if job.get(STRATEGY, None) is None else STRATEGY, fault, fix)


def _references(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_references, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_references, value))
    return isinstance(value, str) and value.startswith(FOLDERS)


SCRIPT = """from huggingface_hub import snapshot_download
from trl import SFTConfig, SFTTrainer

folder = snapshot_download("me/capybara", allow_patterns=["last-checkpoint/*"])
args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara", hub_strategy="checkpoint")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint=f"{folder}/last-checkpoint")
"""

RULE = Rule(
    code="HUB105",
    name="unresumable-push",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `Trainer._push_from_checkpoint`. Tried with a Hub on loopback: after `every_save` the repository "
        "has no optimizer.pt, after `checkpoint` it has last-checkpoint/optimizer.pt."
    ),
    bad=(
        Case(script=SCRIPT.replace('"checkpoint")', '"every_save")'), at=STRATEGY, fixed=SCRIPT),
        Case(script=SCRIPT.replace(', hub_strategy="checkpoint"', ""), at="train.push_to_hub", fixed=SCRIPT),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("last-checkpoint/*", "*.json").replace('"checkpoint")', '"every_save")')),
        Case(script=SCRIPT.replace("push_to_hub=True", "push_to_hub=False").replace('"checkpoint")', '"every_save")')),
    ),
    kinds=PROGRAMS,
)
