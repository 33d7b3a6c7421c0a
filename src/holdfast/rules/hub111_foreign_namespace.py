"""Push to an owner that is neither you nor one of your organizations.

## What it does
Checks the owner of the repository that a job pushes to against the user of the current token and the user's
organizations. Also reports an owner that does not exist at all.

## Why is this bad
Creating the repository fails with 403 when the trainer is built. If the repository already exists, the push fails,
after the training.

## Fix safety
There is no automatic fix: only you know who is to own the model.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refused_pushes
from holdfast.catalog.hub.push_examples import job_case, refused_cases, script_case
from holdfast.core.check.finding import ANY_KIND, Finding, Rule, Severity
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document


def check(job: Document, account: Account, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each owner that is neither the user nor one of the user's organizations."""
    return refused_pushes(job, account, targets, "namespace")


NAME = "acme/capybara-sft"
REFUSED = Account(token=VALID, name="me", role="write", organizations={"fish": "write"})
TAKEN = Account(token=VALID, name="me", role="write", organizations={"Acme": "write"})


RULE = Rule(
    code="HUB111",
    name="foreign-namespace",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo`. Tried against a Hub on loopback: for another user's name and for one that nobody has it "
        "raises 403, `You don't have the rights to create a model under the namespace`."
    ),
    bad=tuple(refused_cases(REFUSED, NAME)),
    good=(
        job_case(TAKEN, NAME),
        script_case(TAKEN, NAME),
        job_case(REFUSED, "me/capybara-sft"),
        job_case(REFUSED, "capybara-sft"),
    ),
    kinds=ANY_KIND,
)
