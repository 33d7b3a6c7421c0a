"""Import of a name that moved to `trl.experimental`.

## What it does
Checks for names that the program imports from their old place, although they are in `trl.experimental` in the
versions that the job will use.

## Why is this bad
For a few releases the old place still works, with a FutureWarning, and the rule reports a warning. After that the
import raises. Some of the library's own warnings name a module that never existed, such as `trl.experimental.xco`.

## Fix safety
The fix is safe: it imports the class from its new place, under the same name. Its arguments may have changed, which
other rules report.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each name that is imported from the module that it has left."""
    for each in absences(job, api, Absence.EXPERIMENTAL):
        yield Finding("imports", each.message, each.fix, place=each.place)
    for each in absences(job, api, Absence.MOVING):
        yield Finding("imports", each.message, each.fix, Severity.WARNING, place=each.place)


SCRIPT = """
from trl import ORPOConfig, ORPOTrainer
"""
MOVED = SCRIPT.replace("trl import", "trl.experimental.orpo import")
AMONG = """
from trl import (
    ModelConfig,
    ORPOConfig,  # one of those that moved
    ORPOTrainer,
)
"""
PARTED = """
from trl import (
    ModelConfig,
)
from trl.experimental.orpo import ORPOConfig, ORPOTrainer
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
    bad=(
        Case(script=SCRIPT, at="imports", fixed=MOVED),
        Case(script=AMONG, at="imports", fixed=PARTED),
        Case(script=SCRIPT, versions={"trl": "0.27.2"}, at="imports", fixed=MOVED),
    ),
    good=(
        Case(script=SCRIPT, versions={"trl": "0.24.0"}),
        Case(script=MOVED),
    ),
    kinds=PROGRAMS,
)
