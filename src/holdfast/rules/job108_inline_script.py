"""Python code passed where the client expects the name of a script.

## What it does
Checks for a line break in the `script` of `run_uv_job` and `create_scheduled_uv_job`.

## Why is this bad
The argument is a path or a URL. The client looks for a file of that name, finds none, and sends
`uv run "<the code>"`: the job starts, costs money, and ends with `Failed to spawn`. Releases up to 0.34 raise
instead. Only the tool for agents (`hf_jobs` over MCP) accepts code, and examples written for it are copied.

## Fix safety
There is no automatic fix: write the code into a file beside this one, and pass its name.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.jobs import UV, submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document) -> Iterator[Finding]:
    """Report each script argument that is Python code."""
    for sent in submissions(job, UV):
        script = sent.given("script")
        if isinstance(script, str) and len(script.strip().splitlines()) > 1:
            fault = f"{sent.name} takes a path or a URL, and this is code: uv will look for a program of that name"
            yield Finding(sent.key("script"), fault, place=sent.place("script"))


SCRIPT = '''
from huggingface_hub import run_uv_job

CODE = """
# /// script
# dependencies = ["trl"]
# ///
from trl import SFTTrainer
"""
run_uv_job(CODE, flavor="a10g-large", timeout="2h")
'''

RULE = Rule(
    code="JOB108",
    name="inline-script",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 0.34 to 2.4, `run_uv_job`. Tried with 2.4: three such texts gave the command `uv run "
        "<code>`, a fourth whose last word ended in .py FileNotFoundError. Tried with uv 0.13: `Failed to spawn`."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT, at="calls.0.script"),
        Case(script=SCRIPT.replace("run_uv_job(CODE", "run_uv_job(script=CODE"), at="calls.0.script"),
    ),
    good=(
        Case(script=SCRIPT.replace("run_uv_job(CODE", 'run_uv_job("train.py"')),
        Case(script=SCRIPT.replace("run_uv_job(CODE", 'run_uv_job("https://example.org/train.py"')),
    ),
)
