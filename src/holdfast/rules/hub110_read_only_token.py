"""Push with a read-only token.

## What it does
Asks the Hub for the permissions of the current token, for a job that pushes: by `output.push_to`, by a trainer with
`push_to_hub`, or by its own `push_to_hub()` or `upload_file()`.

## Why is this bad
If the repository is new, creating it fails with 403 when the trainer is built. If it exists, creating it succeeds,
pushes during training fail silently, and the push at the end raises 403: after all the training is paid for.

## Fix safety
There is no automatic fix: create a token with write access in the Hub's settings, and save it with `hf auth login`.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.catalog.hub.push_examples import SCRIPT, job_case, refused_cases, script_case
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each push with a read-only token."""
    return refused_pushes(job, account, targets, "read-only", "create one with write access")


NAME = "me/capybara-sft"
REFUSED, TAKEN = Account(token=VALID, name="me", role="read"), Account(token=VALID, name="me", role="write")


RULE = Rule(
    code="HUB110",
    name="read-only-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo` and `upload_file`. Tried against a Hub on loopback with a reading token: a new repository is refused "
        "(403), `create_repo(exist_ok=True)` of one that exists passes, and the upload to it raises 403."
    ),
    bad=tuple(refused_cases(REFUSED, NAME)),
    good=(
        job_case(TAKEN, NAME),
        script_case(TAKEN, NAME),
        Case(
            script=SCRIPT.format(name=NAME).replace("push_to_hub=True", "push_to_hub=False"),
            facts={"account": REFUSED, "targets": ()},
        ),
    ),
    kinds=ANY_KIND,
)
