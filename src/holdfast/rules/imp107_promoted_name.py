"""A trainer or config that is imported from `trl.experimental`, and that has moved to `trl` itself.

## What it does
Looks for names that the program imports from `trl.experimental`, where they only warn in the versions that the job will
get, because they became stable.

## Why is this bad
Nothing yet: each use of the name gives a FutureWarning. A later release will take the old place away.

## Fix safety
The class is imported from where it is, under the same name: safe.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Tell of each name that is imported from the place that it left."""
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
