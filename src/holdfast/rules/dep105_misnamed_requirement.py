"""Requirement that uses the name of a module instead of the package.

## What it does
Checks for requirements by names that belong only to modules: `sklearn`, `yaml`, `PIL`, `cv2`.

## Why is this bad
A package's name on the index and its import name can differ. Under these names there is nothing to install, or, for
`sklearn`, a package that only fails and names the right one. No environment is created at all.

## Fix safety
The fix is safe: each of these names stands for one package. `cv2` is also in `opencv-python-headless`, which needs no
display.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

MEANT = {"sklearn": "scikit-learn", "yaml": "pyyaml", "pil": "pillow", "cv2": "opencv-python"}


def check(job: Document) -> Iterator[Finding]:
    """Report each requirement that is the name of a module."""
    for key, requirement in declared_requirements(job).items():
        if not requirement.url and (meant := MEANT.get(requirement.name)):
            name = requirement.text[: len(requirement.name)]
            fix = Fix(f"install {meant}", (Set(key, meant + requirement.text.removeprefix(name)),))
            yield Finding(key, f"no package is named `{name}`: the module is in the package `{meant}`", fix)


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "scikit-learn>=1.5"]
# ///
"""
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment: {requirements: [pyyaml]}
"""

RULE = Rule(
    code="DEP105",
    name="misnamed-requirement",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The index, on 2026-11-21. Tried: pip finds nothing under `yaml`, `PIL` and `cv2`, and fails to build `sklearn`.",
    bad=(
        Case(
            script=SCRIPT.replace("scikit-learn", "sklearn"),
            at=f"{REQUIREMENTS}.1",
            fixed=SCRIPT,
        ),
        Case(job=JOB.replace("pyyaml", "yaml"), at=f"{REQUIREMENTS}.0", fixed=JOB),
    ),
    good=(Case(script=SCRIPT), Case(script=SCRIPT.replace("scikit-learn>=1.5", "bs4")), Case(job=JOB)),
    kinds=ANY_KIND,
)
