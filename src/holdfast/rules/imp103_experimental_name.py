"""A trainer or config that moved into `trl.experimental`.

## What it does
Looks for names that the program imports from where they were, although they live in `trl.experimental` in the versions
that the job will get.

## Why is this bad
For a few releases the old place still worked, with a FutureWarning: then this is a warning. After that the import
raises. Some of the library's own warnings name a module that never was, such as `trl.experimental.xco`.

## Fix safety
An import is not an argument, and other uses of the name may be elsewhere: there is no fix.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.imports import Absence, absences
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Object to each name that is imported from its old place."""
    for each in absences(job, api, Absence.EXPERIMENTAL):
        yield Finding("imports", each.message, place=each.place)
    for each in absences(job, api, Absence.MOVING):
        yield Finding("imports", each.message, severity=Severity.WARNING, place=each.place)


SCRIPT = """
from trl import ORPOConfig, ORPOTrainer
"""

RULE = Rule(
    code="IMP103",
    name="experimental-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The names of each release, in the history in `catalog/api`. With trl 1.16 the example raises ImportError and "
        "`from trl.experimental.orpo import ORPOTrainer` works: run. The warnings of 0.26 to 0.28 were read in the wheels."
    ),
    bad=(Case(script=SCRIPT, at="imports"), Case(script=SCRIPT, versions={"trl": "0.27.2"}, at="imports")),
    good=(
        Case(script=SCRIPT, versions={"trl": "0.24.0"}),
        Case(script=SCRIPT.replace("trl import", "trl.experimental.orpo import")),
    ),
    kinds=PROGRAMS,
)
