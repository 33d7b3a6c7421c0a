"""Pin beside Unsloth that forces an outdated Unsloth.

## What it does
For an `unsloth` without an exact version, checks the pins beside it: trl newer than 1.15, transformers newer than
5.17, datasets 5.

## Why is this bad
The newest Unsloth sets upper bounds for these libraries. A resolver does not fail: it goes back to an Unsloth of July
or September 2025 that had no such bound yet, and that was made for the TRL of that month. So the script gets a
library more than a year old, which replaces the methods of a trainer that it does not know.

## Fix safety
There is no automatic fix: let Unsloth choose the versions of trl, transformers and datasets, or pin Unsloth itself.
"""

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.environment.requirement import Requirement
from holdfast.core.job.document import Document

# What unsloth 2026.10.9 takes at most.
HIGHEST = {"trl": Version("1.15.0"), "transformers": Version("5.17.0"), "datasets": Version("4.99")}


def check(job: Document) -> Iterator[Finding]:
    """Report each pin that Unsloth does not allow."""
    declared = declared_requirements(job)
    unsloth = next(filter(_is_any_unsloth, declared.values()), None)
    if unsloth is None or "<" in unsloth.specifier:
        return
    for key, each in declared.items():
        if each.name in HIGHEST and each.pin and _is_newer(each.pin, HIGHEST[each.name]):
            fault = f"the newest Unsloth does not support {each.name} {each.pin}, so pip installs a release of 2025 that has no upper bound"
            yield Finding(key, fault)


def _is_any_unsloth(requirement: Requirement) -> bool:
    """True if a requirement takes whichever Unsloth fits the others."""
    return requirement.name == "unsloth" and not requirement.pin and not requirement.url


def _is_newer(pin: str, highest: Version) -> bool:
    try:
        return Version(pin) > highest
    except InvalidVersion:
        return False


SCRIPT = """# /// script
# dependencies = ["unsloth", "trl==1.15.0"]
# ///
from unsloth import FastLanguageModel
"""

RULE = Rule(
    code="DEP115",
    name="stale-unsloth",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The metadata of unsloth 2026.10.9. Tried: uv 0.13.9 resolves `unsloth` with `trl==1.16.0` or `datasets==5.2.0` to "
        "unsloth 2025.7.2, with `transformers==5.23.0` to 2025.9.5, and `unsloth` alone to 2026.10.7 with trl 1.15.0."
    ),
    bad=(Case(script=SCRIPT.replace("1.15.0", "1.16.0"), at=f"{REQUIREMENTS}.1"),),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("==1.15.0", "")),
        Case(script=SCRIPT.replace("1.15.0", "1.16.0").replace('"unsloth"', '"unsloth==2025.7.2"')),
        Case(
            script=SCRIPT.replace("1.15.0", "1.16.0")
            .replace("unsloth", "peft")
            .replace("FastLanguageModel", "LoraConfig")
        ),
    ),
    kinds=PROGRAMS,
)
