"""Checkpoints or model larger than the disk.

## What it does
On this machine, adds up the checkpoints that the job keeps at the same time and its result, and checks the sum against
the free space under the runs folder, unless `train.save_only_model` is set. On Hugging Face Jobs, checks the size of the
model's files against the disk of the flavor. Only a job file that names its GPUs is checked.

## Why is this bad
A checkpoint of a full fine-tuning holds the weights and two numbers per weight for the optimizer: 12 bytes per parameter
in float32. If the disk fills up, saving ends with `OSError`, and the training since the last checkpoint is lost.

## Fix safety
There is no automatic fix. `train.save_total_limit` keeps fewer checkpoints, `train.save_only_model` leaves out the
optimizer, and an adapter's checkpoints are small.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import DiskNeed, JobEstimate, exactly
from holdfast.core.run.backends import LOCAL

GB = 1e9
ONLY_MODEL = "train.save_only_model"


def check(job: Document, estimate: JobEstimate | None) -> Iterator[Finding]:
    """Report a disk that is too small for what the job keeps at the same time."""
    if estimate is None or estimate.disk is None:
        return
    if estimate.hardware == LOCAL.name and job.get(ONLY_MODEL, None) not in (None, False):
        return  # the estimate counts checkpoints with the optimizer; those of the model alone are smaller
    disk, model, hardware = estimate.disk, job.get("model.path", None), job.get("where.hardware", None)
    if disk.bytes > disk.room_bytes:
        room = f"the disk has room for {disk.room_bytes / GB:.0f} GB"
        yield Finding(
            "where.hardware" if hardware else "model.path", f"{room}, and a job on `{model}` needs more: {disk.because}"
        )


JOB = """
method: sft
model: {path: Qwen/Qwen3-8B}
dataset: trl-lib/Capybara
where: {backend: local}
"""
THERE = JOB.replace("Qwen3-8B", "Qwen3-30B-A3B").replace(
    "backend: local", "backend: hf-jobs, hardware: t4-small, timeout: 4h"
)
CARD = exactly(1_000_000_000)


def needs(size: float, room: float, because: str, hardware: str = LOCAL.name) -> dict[str, JobEstimate]:
    """Return the fact of a job that writes some gigabytes to a disk with room for some."""
    disk = DiskNeed(bytes=round(size * GB), room_bytes=round(room * GB), because=because)
    return {"estimate": JobEstimate(hardware=hardware, card=CARD, usable_bytes=2_000_000_000, disk=disk)}


FILES = needs(61.1, 50, "the model's files are 61.1 GB", "t4-small")
CHECKPOINTS = "2 checkpoints of 98.3 GB and the result of 32.8 GB"

RULE = Rule(
    code="RES104",
    name="beyond-the-disk",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Two trainings with TRL 1.16 and transformers 5.23 were run on 2026-11-28: their checkpoints were as large as the weights and the states of the "
        "optimizer, beside the tokenizer (docs/estimates.md). Disks of flavors: the official guide to Jobs, August 2026."
    ),
    bad=(
        Case(job=JOB, facts=needs(229, 100, CHECKPOINTS), at="model.path"),
        Case(job=THERE, facts=FILES, at="where.hardware"),
        Case(job=THERE + "train: {save_only_model: true}\n", facts=FILES, at="where.hardware"),
    ),
    good=(
        Case(job=JOB, facts=needs(229, 400, CHECKPOINTS)),
        Case(job=JOB + "train: {save_only_model: true}\n", facts=needs(229, 100, CHECKPOINTS)),
        Case(job=JOB, facts={"estimate": None}),
    ),
)
