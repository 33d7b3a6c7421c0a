"""A requirement that gives the name of a module, where the index has no package of that name.

## What it does
Looks for requirements by names that are only names of modules: `sklearn`, `yaml`, `PIL`, `cv2`.

## Why is this bad
A package's name on the index and the name that it is imported by are two things. There is nothing to install under these
names, or, for `sklearn`, a package whose only work is to fail with the right name. No environment is made at all.

## Fix safety
There is one package that each of these names stands for: safe. `cv2` is in `opencv-python-headless` as well, which does
without a screen.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.document import Document, Set
from holdfast.core.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity

MEANT = {"sklearn": "scikit-learn", "yaml": "pyyaml", "pil": "pillow", "cv2": "opencv-python"}


def check(job: Document) -> Iterator[Finding]:
    """Object to each name of a module."""
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
