"""Package in a script header that is built without torch.

## What it does
Checks for `flash-attn` in a script header that does not tell uv how to build it.

## Why is this bad
Its authors publish no wheels on the index. uv and pip build it in an isolated environment, where its build script
imports torch and finds none: ModuleNotFoundError. No environment is created, whatever precedes it in the list.

## Fix safety
There is no automatic fix. `attn_implementation="flash_attention_2"` also works with `kernels`, which downloads a
matching build. Alternatively, tell uv what the build needs: `[tool.uv.extra-build-dependencies]` with
`flash-attn = ["torch"]`, in an image that has the CUDA compiler; or name one of the authors' wheels by its URL.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements, load_packages
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.environment.script_header import find_header
from holdfast.core.job.document import Document

OTHER_BUILDS = ("extra-build-dependencies", "no-build-isolation", "find-links", "[tool.uv.sources")


def check(job: Document) -> Iterator[Finding]:
    """Report each package whose build fails without torch."""
    header = find_header(job.text)
    if any(each in header for each in OTHER_BUILDS):
        return
    for key, requirement in declared_requirements(job).items():
        package = None if requirement.url else load_packages().get(requirement.name)
        if package and package.builds_with:
            fault = f"`{requirement.name}` has no wheel on the index, and its build imports {package.builds_with}, which its build environment lacks"
            yield Finding(key, f"{fault}; `kernels` does the same without a build")


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "kernels==0.18.2"]
# ///
import trl
"""
BUILT = SCRIPT.replace("kernels==0.18.2", "flash-attn==2.8.3.post2")

RULE = Rule(
    code="DEP112",
    name="unbuildable-requirement",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "flash-attn 2.8.3.post2. Tried: `uv run` of uv 0.13.9 and `pip download` both end with `No module named 'torch'`; "
        "transformers 5.23 asks for kernels 0.18.2 by name."
    ),
    bad=(Case(script=BUILT, at=f"{REQUIREMENTS}.1"),),
    good=(
        Case(script=SCRIPT),
        Case(
            script=BUILT.replace("# ///\ni", '# [tool.uv.extra-build-dependencies]\n# flash-attn = ["torch"]\n# ///\ni')
        ),
        Case(
            script=BUILT.replace(
                "==2.8.3.post2", " @ https://example.org/flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl"
            )
        ),
    ),
    kinds=PROGRAMS,
)
