"""Hub checkpoint passed to a trainer that reads only local folders.

## What it does
Checks `resume_from_checkpoint` of `trainer.train(…)` for a URL, for `hf://…`, and for the repository that the run
itself pushes to.

## Why is this bad
The trainer reads only local folders: "Can't find a valid checkpoint at …", ValueError, after the model and the data
are loaded. A pushed checkpoint can be resumed from once it is downloaded.

## Fix safety
There is no automatic fix: `snapshot_download(repo, allow_patterns="last-checkpoint/*")` downloads the folder,
provided that `hub_strategy="checkpoint"` (or `"all_checkpoints"`) pushed one.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.calls.resuming import checkpoint_key, checkpoint_place, given_checkpoint, trainings
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

REMOTE = re.compile(r"^(https?://|hf://)|^(huggingface\.co|hf\.co)/")


def check(job: Document) -> Iterator[Finding]:
    """Report each checkpoint on the Hub that a trainer reads as a local folder."""
    for call in trainings(job, "ValueError"):
        checkpoint = given_checkpoint(job, call)
        if isinstance(checkpoint, str) and (REMOTE.match(checkpoint) or _is_own_repository(job, checkpoint)):
            fault = f"{checkpoint} is on the Hub, and the trainer resumes from a local folder only: download it first"
            yield Finding(checkpoint_key(call), fault, place=checkpoint_place(call))


def _is_own_repository(job: Document, checkpoint: str) -> bool:
    """True if it is the repository that the run pushes to, and no folder of that name."""
    repository, folder = job.get("train.hub_model_id", None), job.get("train.output_dir", None)
    for given in (repository, folder):
        if given is not None and not isinstance(given, str):
            return False
    inside = checkpoint == repository or checkpoint.startswith(f"{repository}/")
    return inside and not (folder and checkpoint.startswith(folder))


SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/model", hub_strategy="checkpoint")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train(resume_from_checkpoint="out/checkpoint-500")
"""

RULE = Rule(
    code="RSM101",
    name="checkpoint-on-the-hub",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: ValueError for `me/model`, `me/model/checkpoint-2` and the URL."
        " A name that may be a folder is left alone."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(
            script=SCRIPT.replace("out/checkpoint-500", "me/model/checkpoint-500"), at="calls.2.resume_from_checkpoint"
        ),
        Case(
            script=SCRIPT.replace("out/checkpoint-500", "https://huggingface.co/me/model"),
            at="calls.2.resume_from_checkpoint",
        ),
        Case(
            script=SCRIPT.replace('resume_from_checkpoint="out/checkpoint-500"', '"me/model"'),
            at="calls.2.resume_from_checkpoint",
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("out/checkpoint-500", "runs/first/checkpoint-500")),
        Case(script=SCRIPT.replace('="out"', '="me/model"').replace("out/checkpoint-500", "me/model/checkpoint-500")),
        Case(script=SCRIPT.replace('"out/checkpoint-500"', "True")),
    ),
)
