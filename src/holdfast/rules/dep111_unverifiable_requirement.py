"""Library installed from a repository or a URL, so its version is unknown.

## What it does
Checks for requirements of trl, transformers, peft, accelerate, datasets, huggingface_hub, trackio or bitsandbytes by
URL, such as `trl @ git+https://…`. The message says if the URL follows a branch.

## Why is this bad
The arguments that the library takes there belong to no release. A commit cannot be checked; a branch is checked
against the newest release, as warnings. A branch also moves: the same script gets another library tomorrow, and may
fail without a change of its own. The tag of a release is that release.

## Fix safety
There is no automatic fix. If the change that you need is released by now, pin that release; otherwise name a commit:
`trl @ git+https://github.com/huggingface/trl@<commit>`.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.api import packages
from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

RELEASE = re.compile(r"v\d+(\.\d+)+")
FIXED = re.compile(r"[0-9a-f]{7,40}|v?\d[\w.]*")


def check(job: Document) -> Iterator[Finding]:
    """Report each library that is installed from a repository or a URL."""
    for key, requirement in declared_requirements(job).items():
        url = requirement.url
        if url and requirement.package in packages() and not _is_release(url):
            moves = url.startswith("git+") and not FIXED.fullmatch(_revision(url))
            what = (
                "follows a branch, so its code changes; it is checked against the newest release"
                if moves
                else "comes from a URL, so its arguments cannot be checked"
            )
            yield Finding(key, f"{requirement.name} {what}")


def _is_release(address: str) -> bool:
    """True if an address is a release tag of Hugging Face's own repository, so that the version is known."""
    return "github.com/huggingface/" in address and RELEASE.fullmatch(_revision(address)) is not None


def _revision(address: str) -> str:
    """Return the branch, tag or commit that an address names; empty where it names none."""
    _, at, revision = address.rpartition("/")[2].partition("@")
    return revision.partition("#")[0] if at else ""


SCRIPT = """# /// script
# dependencies = ["trl @ git+https://github.com/huggingface/trl", "torch"]
# ///
import trl
"""

RULE = Rule(
    code="DEP111",
    name="unverifiable-requirement",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source="PEP 508. By construction: the API history is made of releases. Tried: uv 0.13.9 resolves a branch to its head.",
    bad=(
        Case(script=SCRIPT, at=f"{REQUIREMENTS}.0"),
        Case(script=SCRIPT.replace('/trl"', '/trl@main"'), at=f"{REQUIREMENTS}.0"),
        Case(
            script=SCRIPT.replace(
                "git+https://github.com/huggingface/trl", "https://example.org/trl-1.0-py3-none-any.whl"
            ),
            at=f"{REQUIREMENTS}.0",
        ),
    ),
    good=(
        Case(script=SCRIPT.replace(" @ git+https://github.com/huggingface/trl", "==1.16.0")),
        Case(script=SCRIPT.replace("trl @", "my-rewards @")),
        Case(script=SCRIPT.replace('/trl"', '/trl@v1.16.0"')),
    ),
    kinds=ANY_KIND,
)
