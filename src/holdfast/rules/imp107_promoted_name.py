"""Import from `trl.experimental` of a name that has moved to `trl`.

## What it does
Checks for names that the program imports from `trl.experimental`, and that only warn there in the versions that the
job will use, because they became stable.

## Why is this bad
Nothing fails yet: each use of the name gives a FutureWarning. A later release will remove the old place.

## Fix safety
The fix is safe: it imports the class from its new place, under the same name.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each name that is imported from `trl.experimental` after it has moved."""
    for each in absences(job, api, Absence.PROMOTED):
        yield Finding("imports", each.message, each.fix, place=each.place)


SCRIPT = """
from trl.experimental.kto import KTOConfig, KTOTrainer
"""
PROMOTED = SCRIPT.replace("trl.experimental.kto", "trl")

RULE = Rule(
    code="IMP107",
    name="promoted-name",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The warnings of the classes themselves, in the history in `catalog/api`. Run with trl 1.16: a FutureWarning when "
        "the config is made. That 1.0.0 has no other place for them was read in its wheel."
    ),
    bad=(Case(script=SCRIPT, at="imports", fixed=PROMOTED),),
    good=(
        Case(script=PROMOTED),
        Case(script=SCRIPT.replace("kto", "orpo").replace("KTO", "ORPO")),
        Case(script=SCRIPT, versions={"trl": "1.0.0"}),
    ),
    kinds=PROGRAMS,
)
