"""An exact version that was never released.

## What it does
Compares exact pins of trl, transformers, peft, accelerate, datasets, huggingface_hub, trackio and bitsandbytes with the
releases in the API history. Of a version older or newer than all of these it says nothing, nor of pre-releases.

## Why is this bad
There is nothing to install. Such pins come from a slip, or from a number that was made up: `transformers==4.47.2` looks
as good as `4.47.1`.

## Fix safety
There is no automatic fix: which release was meant is for the author to say.
"""

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from holdfast.catalog.api import released
from holdfast.catalog.environment.packages import parse_requirement
from holdfast.core.document import Document
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity

REQUIREMENTS = "environment.requirements"


def check(job: Document) -> Iterator[Finding]:
    """Object to each pin that names no release."""
    declared = job.get(REQUIREMENTS, None)
    for index, text in enumerate(declared if isinstance(declared, list) else ()):
        asked = parse_requirement(text) if isinstance(text, str) else None
        if asked and asked.pin and (near := _neighbours(asked.name, asked.pin)):
            fault = f"there is no {asked.name} {asked.pin}: the releases next to it are {near[0]} and {near[1]}"
            yield Finding(f"{REQUIREMENTS}.{index}", fault)


def _neighbours(package: str, version: str) -> tuple[str, str] | None:
    """Return the releases before and after a version that is none; None where it is one, or nobody can say."""
    releases = released(package)
    try:
        asked, known = Version(version), [Version(each) for each in releases]
    except InvalidVersion:
        return None
    if asked in known or asked.is_prerelease or asked.is_postrelease or asked.local:
        return None
    older = [each for each, at in zip(releases, known, strict=True) if at < asked]
    newer = [each for each, at in zip(releases, known, strict=True) if at > asked]
    return (older[-1], newer[0]) if older and newer else None


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
