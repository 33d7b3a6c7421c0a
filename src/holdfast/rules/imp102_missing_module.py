"""Import of a module that the package does not have.

## What it does
Checks each module that the program imports, or imports from, against those of the package in the versions that the
job will use.

## Why is this bad
The program ends with `ModuleNotFoundError` in its first lines, after the environment is installed.

## Fix safety
The fix is safe: it imports the class from the only library that has it, or that is known to have adopted the module.
Removing an unused import is also safe.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each module that the package does not have."""
    for each in absences(job, api, Absence.MODULE):
        yield Finding("imports", each.message, each.fix, place=each.place)


SCRIPT = """
from trl import SFTConfig
from trl.core import LengthSampler
"""
USED = f"{SCRIPT}\nlengths = LengthSampler(2, 8)\n"
INNER = "from trl.trainer.sft import SFTConfig, SFTTrainer\n"

RULE = Rule(
    code="IMP102",
    name="missing-module",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The modules of each release, in the history in `catalog/api`. The example was run with trl 1.16; that 0.24.0 has "
        "`trl.core` was read in its wheel."
    ),
    bad=(
        Case(script=USED, at="imports"),
        Case(script=SCRIPT, at="imports", fixed="\nfrom trl import SFTConfig\n"),
        Case(script=INNER, at="imports", fixed="from trl import SFTConfig, SFTTrainer\n"),
    ),
    good=(
        Case(script=SCRIPT, versions={"trl": "0.24.0"}),
        Case(script=SCRIPT.replace("core import LengthSampler", "rewards import accuracy_reward")),
    ),
    kinds=PROGRAMS,
)
