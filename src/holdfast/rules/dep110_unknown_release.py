"""Pin to a version that was never released.

## What it does
Checks exact pins of trl, transformers, peft, accelerate, datasets, huggingface_hub, trackio and bitsandbytes against
the releases in the API history. Does not report pre-releases, or versions older or newer than all of these.

## Why is this bad
There is nothing to install. Such pins come from a typo, or from an invented number: `transformers==4.47.2` looks as
plausible as `4.47.1`.

## Fix safety
There is no automatic fix: only you know which release you meant.
"""

from bisect import bisect
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from holdfast.catalog.api import released
from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document) -> Iterator[Finding]:
    """Report each pin to a version that was never released."""
    for key, requirement in declared_requirements(job).items():
        if requirement.pin and (near := _neighbours(requirement.name, requirement.pin)):
            wanted = f"{requirement.name} {requirement.pin}"
            yield Finding(key, f"there is no {wanted}: the releases next to it are {near[0]} and {near[1]}")


def _neighbours(package: str, version: str) -> tuple[str, str] | None:
    """Return the releases before and after a version that was not released; None if it was, or may have been."""
    releases = released(package)
    try:
        wanted, known = Version(version), [Version(each) for each in releases]
    except InvalidVersion:
        return None
    if wanted in known or wanted.is_prerelease or wanted.is_postrelease or wanted.local:
        return None
    newer = bisect(known, wanted)
    return (releases[newer - 1], releases[newer]) if 0 < newer < len(releases) else None


SCRIPT = """# /// script
# dependencies = ["transformers==4.47.1", "torch==2.13.0"]
# ///
import transformers
"""
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment: {requirements: [peft==0.21.2]}
"""

RULE = Rule(
    code="DEP110",
    name="unknown-release",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="The index, on 2026-11-21. Tried: uv 0.13.9 finds no transformers 4.47.2. A warning, for withdrawn releases.",
    bad=(
        Case(script=SCRIPT.replace("4.47.1", "4.47.2"), at=f"{REQUIREMENTS}.0"),
        Case(job=JOB.replace("0.21.2", "0.15.9"), at=f"{REQUIREMENTS}.0"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("4.47.1", "4.47")),
        Case(script=SCRIPT.replace("4.47.1", "99.0.0")),
        Case(script=SCRIPT.replace("4.47.1", "4.30.2")),
        Case(script=SCRIPT.replace("==4.47.1", ">=4.47.2")),
        Case(script=SCRIPT.replace("4.47.1", "5.0.0rc1")),
        Case(job=JOB),
    ),
    kinds=ANY_KIND,
)
