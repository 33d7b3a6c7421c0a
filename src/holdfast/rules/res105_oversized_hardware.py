"""Hardware that costs at least twice as much as other hardware that does the same.

## What it does
Estimates the job on each flavor of Hugging Face Jobs, and on each machine of your price file, with as many GPUs. Reports
the cheapest on which the job fits as it is, if it costs at most half there and takes no longer: by the best estimate, and
by its lower and its upper end. A tenth of that GPU must be left, and the model must fit the main memory and the disk.
Only a job file that names its flavor is checked.

## Why is this bad
Steps of small models wait for the host to launch their operations, and short jobs for their start. Both take as long on
every GPU, so a large GPU costs more and gains nothing.

## Fix safety
There is no automatic fix, because there may be other reasons for the flavor: its processors, its main memory, its queue.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import CheaperHardware, Interval, JobEstimate, exactly


def check(job: Document, estimate: JobEstimate | None) -> Iterator[Finding]:
    """Report other hardware that does the same for at most half the price."""
    if estimate is None or estimate.as_fast is None or estimate.usd is None or job.get("where.hardware", None) is None:
        return
    other = estimate.as_fast
    yield Finding(
        "where.hardware",
        f"the job costs about ${estimate.usd.value:.2f} on {estimate.hardware}, and about ${other.usd.value:.2f} on {other.name}, "
        "where it fits and takes no longer",
    )


JOB = """
method: sft
model: {path: Qwen/Qwen2.5-0.5B}
dataset: trl-lib/Capybara
where: {backend: hf-jobs, hardware: h200, timeout: 4h}
"""


def costs(hardware: str, usd: float, other: CheaperHardware | None) -> dict[str, JobEstimate]:
    """Return the fact of a job that costs something, and less on other hardware."""
    card, spent = exactly(8_000_000_000), Interval(usd, usd / 2, usd * 2)
    return {"estimate": JobEstimate(hardware=hardware, card=card, usable_bytes=140 << 30, usd=spent, as_fast=other)}


L4 = CheaperHardware(name="l4x1", usd=Interval(0.32, 0.16, 0.64))

RULE = Rule(
    code="RES105",
    name="oversized-hardware",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "39 trainings were run on an H200 on 2026-11-27: steps of small models took 0.30 to 0.51 s at any length, the time to launch their operations (docs/estimates.md). "
        "Prices are the Hub's, of the day of the check."
    ),
    bad=(Case(job=JOB, facts=costs("h200", 2.0, L4), at="where.hardware"),),
    good=(
        Case(job=JOB.replace("h200", "l4x1"), facts=costs("l4x1", 0.32, None)),
        Case(job=JOB, facts=costs("h200", 2.0, None)),
        Case(job=JOB, facts={"estimate": None}),
    ),
)
