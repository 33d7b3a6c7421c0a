"""Alternative imports that all fail.

## What it does
Checks imports in a `try` whose `except ImportError` imports something else, and imports in the two branches of an
`if` on a library's version. Reports them if the versions that the job will use support none of the alternatives.

## Why is this bad
Such a script was written for two releases, and gets a third: the fallback fails as the first import did, and the
program ends with ImportError in its first lines.

## Fix safety
There is no fix: only you know which of the two imports to update.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import dead_fallbacks
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each fallback that fails like the import that it replaces."""
    for place, message in dead_fallbacks(job, api):
        yield Finding("imports", message, place=place)


SCRIPT = """
try:
    from trl import DataCollatorForCompletionOnlyLM
except ImportError:
    from trl.trainer.utils import DataCollatorForCompletionOnlyLM
"""
BRANCHES = """
import trl
from packaging.version import Version

if Version(trl.__version__) < Version("0.12"):
    from trl import PPOv2Trainer as Trainer
else:
    from trl import PPOTrainer as Trainer
"""

RULE = Rule(
    code="IMP108",
    name="dead-fallback",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The history of releases in `catalog/api`. The bad examples were run with trl 1.16: ImportError.",
    bad=(
        Case(script=SCRIPT, at="imports"),
        Case(script=BRANCHES, at="imports"),
    ),
    good=(
        Case(script=SCRIPT, versions={"trl": "0.19.1", "transformers": "4.53.3"}),
        Case(script=SCRIPT.replace("    from trl.trainer.utils import Data", "    Data").rstrip() + " = None\n"),
        Case(script=SCRIPT.replace("from trl.trainer.utils", "from mine")),
        Case(script=BRANCHES.replace("PPOTrainer", "GRPOTrainer")),
    ),
    kinds=PROGRAMS,
)
