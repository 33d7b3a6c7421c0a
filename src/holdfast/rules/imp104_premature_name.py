"""Import of a name or module added in a later release.

## What it does
Checks each name and module that the program imports against those in the versions that the job will use, and names
the release that added it.

## Why is this bad
The program ends with ImportError in its first lines, after the environment is installed.

## Fix safety
There is no automatic fix: require a later release, or do without the name.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each name that a later release added."""
    for each in absences(job, api, Absence.LATER):
        yield Finding("imports", each.message, place=each.place)


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
"""

RULE = Rule(
    code="IMP104",
    name="premature-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The names and modules of each release, in the history in `catalog/api`. That trl 0.12.2 has no `GRPOTrainer` and "
        "0.13.0 no `trl.rewards` was read in their wheels."
    ),
    bad=(
        Case(script=SCRIPT, versions={"trl": "0.12.2"}, at="imports"),
        Case(script="from trl.rewards import accuracy_reward\n", versions={"trl": "0.13.0"}, at="imports"),
    ),
    good=(Case(script=SCRIPT), Case(script=SCRIPT, versions={"trl": "0.14.0"})),
    kinds=PROGRAMS,
)
