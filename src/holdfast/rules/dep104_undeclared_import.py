"""Import of a package that the script header does not install.

## What it does
For a script with a header (PEP 723), checks each import against the declared dependencies and everything that they
install. Reports nothing if one of the dependencies is unknown, for imports in a `try`, and for scripts that install
packages themselves. Reports a warning for an import in a function or under a condition.

## Why is this bad
`uv run` creates an environment from the header alone, without the packages that are installed on the machine. The
script ends with ModuleNotFoundError. Names differ too: `import yaml` needs `pyyaml`, `import sklearn` needs
`scikit-learn`.

## Fix safety
The fix is safe: it adds the only package that provides the import to the header. The package is not pinned, which
`REP105` reports where it matters. If several packages provide it, such as the builds of OpenCV, the choice is yours.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.environment.packages import REQUIREMENTS, providers
from holdfast.catalog.environment.stated import known_installed, stated_requirements
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Import
from holdfast.core.job.document import Document, Set
from holdfast.core.job.notebook import is_notebook


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the first import of each package that the header does not install."""
    texts = stated_requirements(job)
    if texts is None or _installs_itself(job):
        return
    for each, packages in _uninstalled(job, known_installed(texts, api.versions)):
        package = packages[0]
        fault = f"nothing that the header declares installs `{each.module.partition('.')[0]}`: add `{package}`"
        edits = (Set(REQUIREMENTS, [*job.get(REQUIREMENTS), package]),)
        fix = Fix(f"add `{package}` to the header", edits) if len(packages) == 1 else None
        yield Finding(REQUIREMENTS, fault, fix, _severity(job, each), place=each.place)


def _uninstalled(job: Document, at_hand: frozenset[str]) -> Iterator[tuple[Import, tuple[str, ...]]]:
    """Yield the first import of each package that is not at hand, with the packages that have the module."""
    reported: set[str] = set()
    for each in job.imports:
        needed = providers(each.module)
        lacking = needed and at_hand.isdisjoint(needed) and not each.guard.tolerates("ModuleNotFoundError")
        if lacking and needed[0] not in reported:
            reported.add(needed[0])
            yield each, needed


def _severity(job: Document, each: Import) -> Severity | None:
    """Return a warning for an import that may not be reached: in a function, or under a condition."""
    lines = [] if is_notebook(job.path) else job.text.splitlines()
    number = each.place.line or 0
    indented = 0 < number <= len(lines) and lines[number - 1][:1].isspace()
    return Severity.WARNING if indented or each.place.path != job.path else None


def _installs_itself(job: Document) -> bool:
    """True if the script runs an installer."""
    calls = (call for call in job.calls if call.package in ("os", "subprocess", "pip"))
    return any(_says(call.positional, "install") or _says(list(call.arguments.values()), "install") for call in calls)


def _says(values: Any, word: str) -> bool:
    if isinstance(values, list | tuple):
        return any(_says(value, word) for value in values)
    return isinstance(values, str) and word in values


HEADER = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
"""
SCRIPT = HEADER + "import torch\nfrom datasets import load_dataset\nfrom trl import SFTTrainer\n"
ADAPTED = SCRIPT + "from peft import LoraConfig\n"
FLOORS = """# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "trl==1.16.0",
#     "transformers>=5.0",
# ]
# ///
from trl import SFTTrainer
"""
GUARDED = """try:
    import wandb
except ImportError:
    wandb = None
"""
INSTALLING = 'import subprocess\nsubprocess.run(["pip", "install", "peft"], check=True)\nimport peft\n'

RULE = Rule(
    code="DEP104",
    name="undeclared-import",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The metadata of each release in the API history, and for other packages what uv 0.13.9 resolves. Tried: `uv pip "
        "compile` of the headers here does not list peft, wandb or requests."
    ),
    bad=(
        Case(script=ADAPTED, at=REQUIREMENTS, fixed=ADAPTED.replace("5.23.0", '5.23.0", "peft')),
        Case(
            script=FLOORS + "import sklearn.metrics\n",
            at=REQUIREMENTS,
            fixed=FLOORS.replace('0",\n# ]', '0",\n#     "scikit-learn",\n# ]') + "import sklearn.metrics\n",
        ),
        Case(script=SCRIPT + "import cv2\n", at=REQUIREMENTS),
    ),
    good=(
        Case(script=SCRIPT + "import yaml, json, my_rewards\n"),
        Case(script=SCRIPT + GUARDED),
        Case(script=SCRIPT + INSTALLING),
        Case(script=SCRIPT.removeprefix(HEADER) + "import peft\n"),
        Case(
            script=SCRIPT.replace("5.23.0", "4.57.6") + "import requests\n",
            versions={"trl": "1.16.0", "transformers": "4.57.6"},
        ),
    ),
    kinds=PROGRAMS,
)
