"""URL of the page that shows a script, instead of the script itself.

## What it does
Checks for URLs of GitHub and Hugging Face with `/blob/` in them, in the `script` of `run_uv_job` and
`create_scheduled_uv_job`.

## Why is this bad
Such a URL returns an HTML page. The job's uv downloads it, and Python stops at its first line with SyntaxError, after
the container is paid for.

## Fix safety
The fix is safe: the file's raw URL returns the same file.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.hub.jobs import UV, submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

GITHUB = re.compile(r"^https?://(?:www\.)?github\.com/([^/]+/[^/]+)/blob/([^?#]+)")
HUB = re.compile(r"^(https?://(?:huggingface\.co|hf\.co)/[^?#]+?)/blob/([^?#]+)")


def check(job: Document) -> Iterator[Finding]:
    """Report each script URL that is the URL of a page."""
    for sent in submissions(job, UV):
        script = sent.given("script")
        text = _text_of(script) if isinstance(script, str) else None
        if text is None:
            continue
        key = sent.key("script")
        fix = Fix("use the address of the text", (Set(key, text),)) if sent.place("script") is None else None
        fault = f"{script} is an HTML page; the script itself is at {text}"
        yield Finding(key, fault, fix, place=sent.place("script"))


def _text_of(url: str) -> str | None:
    if found := GITHUB.match(url):
        return f"https://raw.githubusercontent.com/{found[1]}/{found[2]}"
    if found := HUB.match(url):
        return f"{found[1]}/resolve/{found[2]}"
    return None


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job(script="https://raw.githubusercontent.com/huggingface/trl/v1.16.0/trl/scripts/sft.py", timeout="2h")
"""
PAGE = SCRIPT.replace("raw.githubusercontent.com/huggingface/trl", "github.com/huggingface/trl/blob")
HUB_SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job(script="https://huggingface.co/datasets/me/scripts/resolve/main/train.py", timeout="2h")
"""

RULE = Rule(
    code="JOB109",
    name="page-for-script",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4 hands a URL on unchanged. Tried with uv 0.13 through a proxy that wrote down where it "
        "went: it asks for such a URL as it stands. That HTML is not valid Python was tried too; the sites themselves were"
        " not asked."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=PAGE, at="calls.0.script", fixed=SCRIPT),
        Case(script=HUB_SCRIPT.replace("resolve", "blob"), at="calls.0.script", fixed=HUB_SCRIPT),
        Case(script=PAGE.replace("script=", ""), at="calls.0.script"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=HUB_SCRIPT),
        Case(script=HUB_SCRIPT.replace("resolve", "raw")),
        Case(script=SCRIPT.replace("https://raw.githubusercontent.com/huggingface/trl/v1.16.0", "blob")),
    ),
)
