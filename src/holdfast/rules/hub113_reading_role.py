"""Push to an organization in which the user has a read-only role.

## What it does
Checks the user's role in the organization that a job pushes to.

## Why is this bad
Creating the repository fails with 403, or, if it exists, the push fails after the training.

## Fix safety
There is no automatic fix: an admin of the organization can assign the role `write` or `contributor`.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.catalog.hub.push_examples import job_case, refused_cases, script_case
from holdfast.core.check.finding import ANY_KIND, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each organization in which the user has a read-only role."""
    return refused_pushes(job, account, targets, "role", "ask one of its admins")


NAME = "acme/capybara-sft"
REFUSED = Account(token=VALID, name="me", role="write", organizations={"acme": "read"})
TAKEN = Account(token=VALID, name="me", role="write", organizations={"acme": "contributor"})


RULE = Rule(
    code="HUB113",
    name="reading-role",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `whoami` and `create_repo`; the Hub's documentation of roles. Tried against a Hub on loopback: the role `read` may make "
        "no repository (403), `contributor` may."
    ),
    bad=tuple(refused_cases(REFUSED, NAME)),
    good=(
        job_case(TAKEN, NAME),
        script_case(TAKEN, NAME),
        job_case(Account(token=VALID, name="me", role="write", organizations={"acme": "admin"}), NAME),
    ),
    kinds=ANY_KIND,
)
