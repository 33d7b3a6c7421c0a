"""Library without an upper version bound.

## What it does
For a script with a header (PEP 723), checks for requirements without an upper bound of trl, transformers and the
other libraries whose arguments change with every release. Names the release that they resolve to today.

## Why is this bad
The script gets the newest release on the day on which it runs. Of 255 published scripts, two in three would fail with
the newest releases, at an argument or an import that no longer exists; most of them had pinned nothing, or only a
minimum version.

## Fix safety
The fix is unsafe: it pins today's release, so the script works as before, but gets no bug fixes.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.environment.requirement import Requirement
from holdfast.core.job.document import Document, Set

CHANGING = ("trl", "transformers", "peft", "datasets", "accelerate")
BOUNDS = ("==", "<", "~=")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each library that is installed in its newest release of the day."""
    if job.get("environment.lock", None) is not None or "exclude-newer" in job.text:
        return
    for key, requirement in declared_requirements(job).items():
        name = requirement.name
        version = api.versions.get(name) if name in CHANGING else None
        if version is not None and not _is_bounded(requirement):
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            fix = Fix(f"pin {name}", (Set(key, f"{name}{extras}=={version}"),), safe=False)
            fault = f"this installs the newest {name} of the day, currently {version}: pin `{name}=={version}`"
            yield Finding(key, fault, fix)


def _is_bounded(requirement: Requirement) -> bool:
    """True if a later release may not be taken, or if something else than a version decides what is installed."""
    elsewhere = requirement.url or requirement.marker
    return bool(elsewhere) or any(each in requirement.specifier for each in BOUNDS)


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "torch"]
# ///
import trl
"""
NOW = {"trl": "1.16.0"}

RULE = Rule(
    code="REP105",
    name="unpinned-requirement",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source="A survey of 255 scripts, in 2026. Tried: uv 0.13.9 resolves `trl` and `trl>=0.12` to trl 1.16.0.",
    bad=(
        Case(script=SCRIPT.replace("==1.16.0", ""), versions=NOW, at=f"{REQUIREMENTS}.0", fixed=SCRIPT),
        Case(script=SCRIPT.replace("==1.16.0", ">=0.12"), versions=NOW, at=f"{REQUIREMENTS}.0", fixed=SCRIPT),
    ),
    good=(
        Case(script=SCRIPT, versions=NOW),
        Case(script=SCRIPT.replace("==1.16.0", ">=1.10,<2"), versions=NOW),
        Case(
            script=SCRIPT.replace(
                "# ///\ni", '# [tool.uv]\n# exclude-newer = "2026-11-20T00:00:00Z"\n# ///\ni'
            ).replace("==1.16.0", ""),
            versions=NOW,
        ),
    ),
    kinds=PROGRAMS,
)
