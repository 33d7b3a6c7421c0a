"""Training on Hugging Face Jobs that does not save its result.

## What it does
Checks trainings started with `hf jobs …`, and scripts whose header is written for jobs (`[tool.hf-jobs]`), for a
push, an upload, or a write to a volume.

## Why is this bad
The disk of a job is deleted with the job. The training runs to its end, the job is COMPLETED, and there is no model.

## Fix safety
There is no automatic fix: `push_to_hub=True` and a final `trainer.push_to_hub()` save the model, or a volume that the
job mounts.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

TABLE = "[tool.hf-jobs]"
FOR_JOBS = re.compile(rf"^#\s*{re.escape(TABLE)}", re.MULTILINE)
# Any sign that the script stores its result somewhere else counts as keeping it.
KEEPS = re.compile(r"push|upload|hf://|bucket|boto3|s3:|gs:|volume|rsync|/data\b|/mnt\b", re.IGNORECASE)
COMMAND = re.compile(r"^trl \w+$")


def check(job: Document) -> Iterator[Finding]:
    """Report a result that is lost with the job's machine."""
    if not _is_for_jobs(job):
        return
    trains, config = list(filter(_trains, job.calls)), job.call("train")
    if not trains or config is None or config.open or job.get("train.push_to_hub", None) is not None:
        return
    if not KEEPS.search(job.text):
        fault = "the model stays on the job's disk, which is deleted with the job: push it, or write it to a volume"
        yield Finding(trains[-1].key, fault, place=trains[-1].name_place)


def _is_for_jobs(job: Document) -> bool:
    """True if a program is sent to Jobs by its command line, or says in its header how to run it there."""
    sent = any(each.call is None for each in submissions(job))
    return sent or (TABLE in job.text and FOR_JOBS.search(job.text) is not None)


def _trains(call: Call) -> bool:
    return call.name == "train" or COMMAND.match(call.path) is not None


SCRIPT = """
# /// script
# dependencies = ["trl==1.16.0"]
#
# [tool.hf-jobs]
# flavor = "a10g-large"
# ///
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""
KEPT = SCRIPT.replace(", push_to_hub=True", "")

RULE = Rule(
    code="JOB116",
    name="unkept-result",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 2.4 reads `[tool.hf-jobs]` of a script's header for `hf jobs uv run`. That the disk goes "
        "with the job is Hugging Face's own word, and was not tried."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=KEPT, at="calls.2"),),
    good=(
        Case(script=SCRIPT),
        Case(script=KEPT.replace("# [tool.hf-jobs]\n# flavor", "# [tool.uv]\n# cache")),
        Case(script=KEPT + 'trainer.model.push_to_hub("me/model")\n'),
        Case(script=KEPT.replace('"out"', '"/data/out"')),
    ),
)
