"""Metrics stored on a disk that is deleted with the job.

## What it does
For trackio on Hugging Face Jobs, checks for a Space to send the metrics to: `track.space` in a job file;
`trackio_space_id`, with transformers 5.6 or newer, in a script whose header is written for such jobs
(`[tool.hf-jobs]`).

## Why is this bad
Without a Space, trackio keeps its database in the home folder. The disk of a job is deleted with the job, so nobody
can view the curves while the job runs, and they are lost when it ends. Up to transformers 5.5 a Space called
`trackio` was the default; since then there is none.

## Fix safety
There is no automatic fix: the name of the Space, and who may see it, are yours to choose.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.tracking import reported_trackers
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.environment.script_header import find_header
from holdfast.core.job.document import Document
from holdfast.core.run.backends import backend_of

LOST = "these metrics stay on the job's disk, and are lost with it"
LOCAL = "5.6.0"
PLACES = ("trackio_space_id", "trackio_bucket_id", "push_to_hub")
VARIABLES = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "TRACKIO_BUCKET_ID", "TRACKIO_DIR")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report metrics that are deleted with the job's disk."""
    if job.kind == "job":
        yield from _in_job_file(job)
    elif since(api, "transformers", LOCAL) and "[tool.hf-jobs" in find_header(job.text):
        yield from _in_program(job)


def _in_job_file(job: Document) -> Iterator[Finding]:
    away = not backend_of(job).keeps_disk and job.get("track.with", None) == "trackio"
    if away and job.get("track.space", None) is None and not _elsewhere(job):
        yield Finding("track.with", f"{LOST}: name a Space in `track.space`")


def _in_program(job: Document) -> Iterator[Finding]:
    if "trackio" not in reported_trackers(job) or _elsewhere(job):
        return
    if all(job.get(f"train.{name}", None) in (None, False) for name in PLACES):
        yield Finding("train.report_to", f"{LOST}: set `trackio_space_id`")


def _elsewhere(job: Document) -> bool:
    """True if the environment names another place."""
    return any(name in job.text for name in VARIABLES)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
track: {with: trackio, space: me/curves}
where:
  backend: hf-jobs
  timeout: 4h
"""
SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0", "trackio==0.43.0"]
#
# [tool.hf-jobs]
# flavor = "a10g-large"
# ///
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="trackio", trackio_space_id="me/curves")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
KEPT = SCRIPT.replace(', trackio_space_id="me/curves"', "")

RULE = Rule(
    code="TRK108",
    name="vanishing-metrics",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.5 and 5.6, the default of `trackio_space_id`. Tried with 5.23 and trackio 0.43: a run without a Space "
        "leaves its database in a local folder and nothing anywhere else."
    ),
    bad=(Case(job=JOB.replace(", space: me/curves", ""), at="track.with"), Case(script=KEPT, at="train.report_to")),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace(", space: me/curves", "").partition("where")[0]),
        Case(script=SCRIPT),
        Case(script=KEPT, versions={"transformers": "5.5.0"}),
        Case(script=KEPT.replace('#\n# [tool.hf-jobs]\n# flavor = "a10g-large"\n', "")),
    ),
    kinds=ANY_KIND,
)
