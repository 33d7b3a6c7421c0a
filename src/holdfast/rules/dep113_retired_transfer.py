"""Switch for faster downloads that no longer exists.

## What it does
With huggingface_hub 1.0 or newer, checks for the variable `HF_HUB_ENABLE_HF_TRANSFER`, and for the extra
`hf_transfer`.

## Why is this bad
huggingface_hub 1.0 transfers files with Xet and no longer supports hf_transfer. The variable only gives a warning;
the extra does not exist, so uv installs nothing for it.

## Fix safety
There is no automatic fix: remove it. `HF_XET_HIGH_PERFORMANCE=1` now requests the full bandwidth.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

VARIABLE = "environment.variables.HF_HUB_ENABLE_HF_TRANSFER"
RETIRED = "1.0.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the variable and the package extra that no longer make downloads faster."""
    if not since(api, "huggingface_hub", RETIRED):
        return
    if job.get(VARIABLE, None) in ("1", "ON", "YES", "TRUE", "True", "true", 1, True):
        fault = f"huggingface_hub {api.versions['huggingface_hub']} ignores this; use HF_XET_HIGH_PERFORMANCE=1"
        yield Finding(VARIABLE, fault)
    for key, requirement in declared_requirements(job).items():
        if requirement.name == "huggingface-hub" and "hf-transfer" in requirement.extras:
            release = f"huggingface_hub {api.versions['huggingface_hub']}"
            yield Finding(key, f"{release} has no extra `hf_transfer`: remove it")


SCRIPT = """# /// script
# dependencies = ["huggingface_hub[hf_transfer]", "trl==1.16.0"]
# ///
import os
"""
VARIABLES = 'import os\nos.environ["HF_HUB_ENABLE_HF_TRANSFER"] = "1"\nimport trl\n'
JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment: {variables: {HF_HUB_ENABLE_HF_TRANSFER: "1"}}
"""

RULE = Rule(
    code="DEP113",
    name="retired-transfer",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub from 0.34 to 2.4: `constants.py` and the metadata. Tried with 2.4: a FutureWarning says that the "
        "variable is not used, and no extra of that name is declared since 1.0."
    ),
    bad=(
        Case(script=SCRIPT, at=f"{REQUIREMENTS}.0"),
        Case(script=VARIABLES, at=VARIABLE),
        Case(job=JOB, at=VARIABLE),
    ),
    good=(
        Case(script=SCRIPT.replace("[hf_transfer]", "")),
        Case(script=SCRIPT, versions={"huggingface_hub": "0.36.0"}),
        Case(script=VARIABLES.replace('"1"', '"0"')),
        Case(script=VARIABLES, versions={"huggingface_hub": "0.36.0"}),
        Case(job=JOB.replace("HF_HUB_ENABLE_HF_TRANSFER", "HF_XET_HIGH_PERFORMANCE")),
    ),
    kinds=ANY_KIND,
)
