"""Fine-grained token without write permission for the target of a push.

## What it does
Checks the permissions of a fine-grained token, for a job that pushes: `repo.write` for the repository, or for the
user or the organization that owns it.

## Why is this bad
Creating the repository fails with 403, or, if it exists, the push fails after the training. The problem is easy to
miss, because the token works elsewhere.

## Fix safety
There is no automatic fix: add the permission to the token in the Hub's settings.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.catalog.hub.push_examples import job_case, refused_cases, script_case
from holdfast.core.check.finding import ANY_KIND, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each push to a target for which the token has no write permission."""
    return refused_pushes(job, account, targets, "scope", "give it `Write access to contents` there")


NAME = "acme/capybara-sft"
GIVEN = frozenset({"repo.content.read", "repo.write"})
REFUSED = Account(
    token=VALID,
    name="me",
    role="fineGrained",
    organizations={"acme": "write"},
    scopes={"me": GIVEN, "acme": frozenset({"repo.content.read"})},
)
TAKEN = Account(token=VALID, name="me", role="fineGrained", organizations={"acme": "write"}, scopes={"acme": GIVEN})


RULE = Rule(
    code="HUB112",
    name="unscoped-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `whoami` and `create_repo`; the Hub's documentation of fine-grained tokens. Tried against a Hub on loopback with a "
        "token for one organization: there an upload passes, and for the user's own name it raises 403."
    ),
    bad=tuple(refused_cases(REFUSED, NAME)),
    good=(
        job_case(TAKEN, NAME),
        script_case(TAKEN, NAME),
        job_case(REFUSED, "me/capybara-sft"),
    ),
    kinds=ANY_KIND,
)
