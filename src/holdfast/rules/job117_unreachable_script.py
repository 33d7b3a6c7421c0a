"""Script URL that does not exist.

## What it does
Requests the URL that `run_uv_job` and `create_scheduled_uv_job` get as their script.

## Why is this bad
The job's uv requests the URL in the container, and passes any response to Python, even an error: `404: Not Found` is
a SyntaxError in line 1, after you have waited for the machine and paid for it.

## Fix safety
There is no automatic fix. If the URL requires a login, a secret of the job may still give access, so this case is a
warning.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Link
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

GONE = (404, 410)
CLOSED = (401, 403)


def check(job: Document, links: Sequence[Lookup[Link]]) -> Iterator[Finding]:
    """Report each script URL that does not exist."""
    for reference, link in found_references(job, links):
        if link.status in GONE:
            yield finding(reference, f"there is nothing at {reference.name} (HTTP {link.status})")
        elif link.status in CLOSED:
            fault = f"{reference.name} needs a login (HTTP {link.status}), and the job has none"
            yield finding(reference, fault, severity=Severity.WARNING)


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("https://raw.githubusercontent.com/huggingface/trl/main/examples/scripts/grpo.py", timeout="2h")
"""
NAMED = SCRIPT.replace('"https', 'script="https')


def _facts(status: int, key: str = "calls.0.0") -> dict[str, object]:
    address = SCRIPT.split('"')[1]
    return {
        "links": (Lookup(Reference(role="link", name=address, key=key), Link(status=status, media_type="text/plain")),)
    }


RULE = Rule(
    code="JOB117",
    name="unreachable-script",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4 hands a URL on unchanged. Tried with uv 0.13.9 and a server on loopback: an answer of 404 or 401 is run as if it were the "
        "script, by its body."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts(404), at="calls.0.0"),
        Case(script=NAMED, facts=_facts(404, "calls.0.script"), at="calls.0.script"),
        Case(script=SCRIPT, facts=_facts(401), at="calls.0.0"),
    ),
    good=(
        Case(script=SCRIPT.replace("examples/scripts", "scripts"), facts={"links": ()}),
        Case(script=SCRIPT, facts=_facts(200)),
        Case(script=SCRIPT, facts=_facts(503)),
    ),
    kinds=PROGRAMS,
)
