"""Job that runs a script from a branch.

## What it does
Checks the script URL of `run_uv_job` and its scheduled variant for a branch, `main` or `master`, of GitHub or of the
Hub.

## Why is this bad
The script is downloaded when the job starts, not when you read it. Examples are moved and rewritten:
`examples/scripts` of TRL no longer exists. A job that worked before, or that waits in a schedule, then runs something
else, or gets a 404 page.

## Fix safety
There is no automatic fix: replace the branch by a tag or a commit, such as `v1.16.0`, or keep a copy.
"""

import re
from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

STARTING = ("run_uv_job", "create_scheduled_uv_job")
BRANCH = re.compile(
    r"https://(?:raw\.githubusercontent\.com/[^/]+/[^/]+/(?:refs/heads/)?|github\.com/[^/]+/[^/]+/raw/|"
    r"huggingface\.co/(?:datasets/|spaces/)?[^/]+/[^/]+/(?:raw|resolve)/)(main|master)/.+"
)


def check(job: Document) -> Iterator[Finding]:
    """Report each script that may change before it runs."""
    for call in filter(_starts, job.calls):
        given = call.arguments.get("script", next(iter(call.positional), None))
        found = BRANCH.fullmatch(given) if isinstance(given, str) else None
        if found:
            named = "script" in call.arguments
            fault = f"this runs what is on the branch `{found[1]}` when the job starts: name a tag or a commit"
            yield Finding(f"{call.key}.script" if named else call.key, fault, place=None if named else call.name_place)


def _starts(call: Call) -> bool:
    return call.package == "huggingface_hub" and call.name in STARTING and not call.guard.because


SCRIPT = """from huggingface_hub import run_uv_job

run_uv_job("https://raw.githubusercontent.com/huggingface/trl/v1.16.0/trl/scripts/sft.py", timeout="4h")
"""

RULE = Rule(
    code="REP104",
    name="mutable-script",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 2.4: a URL is handed on to `uv run` as it is. Tried with a Hub on loopback: the request's command "
        "holds the URL."
    ),
    bad=(
        Case(script=SCRIPT.replace("v1.16.0", "main"), at="calls.0"),
        Case(script=SCRIPT.replace("v1.16.0", "refs/heads/main"), at="calls.0"),
    ),
    good=(Case(script=SCRIPT), Case(script='from huggingface_hub import run_uv_job\n\nrun_uv_job("train.py")\n')),
    kinds=PROGRAMS,
)
