"""Argument added in a later release than the one that the job uses.

## What it does
Checks for arguments that the class or function does not yet take in the versions that the job will use. Names the
release that added the argument, and its earlier name.

## Why is this bad
The call raises `TypeError: … got an unexpected keyword argument`. This happens to scripts that pin an old release and
follow the documentation of a new one.

## Fix safety
The fix is safe: it writes the earlier name of the argument, if that name means the same. Requiring a later release is
often better, but that decision is yours.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import ArgumentChange, refused_arguments
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that a later release added."""
    for each in refused_arguments(job, api, ArgumentChange.LATER):
        yield Finding(each.key, each.message, each.fix)


SCRIPT = """
from trl import SFTConfig

args = SFTConfig(output_dir="capybara", max_length=512)
"""
PACKED = SCRIPT.replace("max_length=512", 'packing_strategy="bfd"')
OLD = {"trl": "0.15.2", "transformers": "4.49.0"}

RULE = Rule(
    code="ARG108",
    name="premature-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`; that SFTConfig has neither argument in trl 0.15.2 was read in its wheel. "
        "With trl 1.16 both were run."
    ),
    bad=(
        Case(
            script=SCRIPT,
            versions=OLD,
            at="calls.0.max_length",
            fixed=SCRIPT.replace("max_length", "max_seq_length"),
        ),
        Case(script=PACKED, versions=OLD, at="calls.0.packing_strategy"),
    ),
    good=(Case(script=SCRIPT), Case(script=PACKED), Case(script=SCRIPT.replace("max_length", "packing"), versions=OLD)),
    kinds=ANY_KIND,
)
