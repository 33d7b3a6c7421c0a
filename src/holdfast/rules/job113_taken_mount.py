"""Volume mounted where the client puts the job's own script.

## What it does
Checks the `volumes` of a uv job for a `Volume` with the mount path `/data`, if the script is a local file.

## Why is this bad
Since 1.13 the client uploads local scripts to a bucket and mounts it at `/data`. It raises ValueError if that path is
taken: the job is not submitted.

## Fix safety
The fix is unsafe: the volume can be mounted at another path, but the script must then look for its files there.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.hub.jobs import UV, Submission, submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document, Set

TAKEN = "/data"
FREE = "/inputs"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each volume that is mounted at the path of the job's script."""
    if not since(api, "huggingface_hub", "1.13.0"):
        return
    for sent in submissions(job, UV):
        if _is_local(sent.given("script")) and not sent.guard.tolerates("ValueError"):
            yield from _volumes(job, sent)


def _is_local(script: object) -> bool:
    return isinstance(script, str) and script.endswith(".py") and "\n" not in script and "://" not in script


def _volumes(job: Document, sent: Submission) -> Iterator[Finding]:
    volumes = sent.given("volumes")
    for volume in volumes if isinstance(volumes, list | tuple) else ():
        if not isinstance(volume, CallResult):
            continue
        key = f"{volume.key}.mount_path"
        if job.get(key, None) == TAKEN:
            fix = Fix(f"mount it at {FREE}", (Set(key, FREE),), safe=False)
            yield Finding(key, f"{TAKEN} is where the client mounts the local script {sent.given('script')}", fix)


SCRIPT = """
from huggingface_hub import Volume, run_uv_job

rows = Volume(type="dataset", source="me/rows", mount_path="/inputs")
run_uv_job("train.py", timeout="2h", volumes=[rows])
"""
TAKEN_TWICE = SCRIPT.replace("/inputs", "/data")

RULE = Rule(
    code="JOB113",
    name="taken-mount",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 1.13 to 2.4, `_create_uv_command_env_and_secrets`. Tried with 2.4 and a script that "
        "exists: ValueError, before anything is uploaded."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=TAKEN_TWICE, at="calls.0.mount_path", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=TAKEN_TWICE.replace('"train.py"', '"https://example.org/train.py"')),
        Case(script=TAKEN_TWICE, versions={"huggingface_hub": "1.8.0"}),
    ),
)
