"""A requirement by the name under which a package is imported, where the index knows no such package.

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

from holdfast.catalog.environment.packages import parse_requirement
from holdfast.core.document import Document, Set
from holdfast.core.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity

REQUIREMENTS = "environment.requirements"
MEANT = {"sklearn": "scikit-learn", "yaml": "pyyaml", "pil": "pillow", "cv2": "opencv-python"}


def check(job: Document) -> Iterator[Finding]:
    """Object to each name of a module."""
    declared = job.get(REQUIREMENTS, None)
    for index, text in enumerate(declared if isinstance(declared, list) else ()):
        asked = parse_requirement(text) if isinstance(text, str) else None
        meant = MEANT.get(asked.name) if asked and not asked.address else None
        if asked and meant:
            fix = Fix(f"install {meant}", (Set(f"{REQUIREMENTS}.{index}", f"{meant}{asked.bounds}"),))
            fault = f"no package is named `{text[: len(asked.name)]}`: the module is in the package `{meant}`"
            yield Finding(f"{REQUIREMENTS}.{index}", fault, fix)


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
