"""Script URL that returns an HTML page.

## What it does
Requests the URL that `run_uv_job` and `create_scheduled_uv_job` get as their script, and checks whether the response
is HTML. URLs of GitHub and the Hub that show a file are reported by `page-for-script`, without a request.

## Why is this bad
The job's uv downloads the page and passes it to Python, which stops at its first line with SyntaxError, after the
container is paid for.

## Fix safety
There is no automatic fix: the page usually links to the file itself, often as *raw*.
"""

import re
from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Link
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

PAGES = ("text/html", "application/xhtml+xml")
FOUND = 200
# Addresses that JOB109 reports.
SHOWN = re.compile(r"https?://[^?#]*/blob/")


def check(job: Document, links: Sequence[Lookup[Link]]) -> Iterator[Finding]:
    """Report each script URL that returns an HTML page."""
    for reference, link in found_references(job, links):
        if link.status == FOUND and link.media_type in PAGES and not SHOWN.match(reference.name):
            yield finding(reference, f"{reference.name} is an HTML page, not a script")


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("https://gist.github.com/someone/0a1b2c3d", timeout="2h")
"""


def _facts(
    media_type: str, address: str = "https://gist.github.com/someone/0a1b2c3d", status: int = 200
) -> dict[str, object]:
    reference = Reference(role="link", name=address, key="calls.0.0")
    return {"links": (Lookup(reference, Link(status=status, media_type=media_type)),)}


BLOB = "https://github.com/huggingface/trl/blob/main/trl/scripts/sft.py"
RULE = Rule(
    code="JOB118",
    name="page-at-address",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4 hands a URL on unchanged. Tried with uv 0.13.9 and a server on loopback: a page in HTML is run as the script, and Python raises "
        "SyntaxError at its first line."
    ),
    bad=(Case(script=SCRIPT, facts=_facts("text/html"), at="calls.0.0"),),
    good=(
        Case(script=SCRIPT + "# raw\n", facts=_facts("text/plain")),
        Case(script=SCRIPT, facts=_facts("text/html", status=503)),
        Case(script="import huggingface_hub\n", facts=_facts("text/html", BLOB)),
    ),
    kinds=PROGRAMS,
)
