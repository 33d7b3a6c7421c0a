"""`create_repo` for a repository that already exists.

## What it does
Checks the repositories that a program creates with `create_repo()` without `exist_ok=True`.

## Why is this bad
The Hub answers 409, and `create_repo` raises: such a program works once, and never again.

## Fix safety
The fix is unsafe: with `exist_ok=True` the program continues with the existing repository, and overwrites its files.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import call_of, finding, found_references
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.check.hub import PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import ABSENT, Document, Set

ALLOWS = "exist_ok"


def check(job: Document, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each `create_repo` for a repository that exists."""
    for reference, target in found_references(job, targets):
        call = call_of(job, reference)
        if call is None or call.name != "create_repo" or call.open or target.repo is None or not target.repo.exists:
            continue
        allowed = job.get(f"{call.key}.{ALLOWS}", ABSENT)
        if allowed is ABSENT or allowed is False:
            fix = Fix(f"write `{ALLOWS}=True`", (Set(f"{call.key}.{ALLOWS}", value=True),), safe=False)
            yield finding(
                reference, f"`{target.name}` exists already, and `create_repo` refuses to create it again", fix
            )


SCRIPT = """from huggingface_hub import create_repo

create_repo("me/capybara-sft", private=True)
"""
FIXED = SCRIPT.replace("private=True", "private=True, exist_ok=True")
THERE = Repo(name="me/capybara-sft", private=True)


def _facts(repo: Repo | None) -> dict[str, object]:
    reference = Reference(role="target", name="me/capybara-sft", key="calls.0.0")
    return {
        "targets": (Lookup(reference, PushTarget(name="me/capybara-sft", namespace="me", repo=repo, writable="yes")),)
    }


RULE = Rule(
    code="HUB119",
    name="taken-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo`. Tried against a Hub on loopback: of a repository that exists it raises HfHubHTTPError (409), and with "
        "`exist_ok=True` it passes."
    ),
    bad=(Case(script=SCRIPT, facts=_facts(THERE), at="calls.0.0", fixed=FIXED),),
    good=(
        Case(script=FIXED, facts=_facts(THERE)),
        Case(script=SCRIPT, facts=_facts(None)),
        Case(
            script=SCRIPT.replace("create_repo(", "try:\n    create_repo(", 1).replace(
                "import try:\n    create_repo(", "import create_repo"
            )
            + "except Exception:\n    pass\n",
            facts={"targets": ()},
        ),
    ),
    kinds=PROGRAMS,
)
