"""Import of a name from the wrong package.

## What it does
Checks for names that the module lacks in every release. Searches the names of trl, transformers, peft, accelerate,
datasets and huggingface_hub; if none of them has the name, searches for the nearest name of the module.

## Why is this bad
The program ends with `ImportError: cannot import name …` in its first lines, after the environment is installed.

## Fix safety
The fix is safe where only one of the libraries has the class: it imports the class from there. It is unsafe where
several have the name, and where it writes the nearest name, because both are guesses.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each name that no release of the package has."""
    for each in absences(job, api, Absence.NEVER):
        yield Finding("imports", each.message, each.fix, place=each.place)


SCRIPT = """
from transformers import SFTTrainer
"""

RULE = Rule(
    code="IMP105",
    name="foreign-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The names of each release, in the history in `catalog/api`. The examples were run with trl 1.16 and transformers 5.23.",
    bad=(
        Case(script=SCRIPT, at="imports", fixed=SCRIPT.replace("transformers", "trl")),
        Case(
            script=SCRIPT.replace("SFTTrainer", "LoraConfig"),
            at="imports",
            fixed=SCRIPT.replace("SFTTrainer", "LoraConfig").replace("transformers", "peft"),
        ),
        Case(script="from trl import SFTTrainner\n", at="imports", fixed="from trl import SFTTrainer\n"),
    ),
    good=(Case(script=SCRIPT.replace("transformers", "trl")), Case(script="from trl.trainer import utils\n")),
    kinds=PROGRAMS,
)
