"""Whether an account may write to a repository, and what stands against it.

Source: the Hub's documentation of tokens and of organizations' roles, and the fields of `whoami` that huggingface_hub 2.4 reads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.finding import Finding, MissingFactError
from holdfast.core.check.hub import Account, PushTarget
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document

Obstacle = Literal["read-only", "namespace", "scope", "role"]
VALID: Final = "valid"
REFUSED: Final = "refused"
ABSENT: Final = "absent"
"""What the Hub makes of a token."""
EVERYTHING: Final = "global"
"""The scope of permissions that are for nothing in particular."""
READERS: Final = frozenset({"read", "no_access"})
"""Roles in an organization that may not even make a repository. A contributor may, and writes to those that are its own."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the Hub will refuse.

    Attributes:
        obstacle: The kind of reason.
        because: The reason in words.
    """

    obstacle: Obstacle
    because: str


def refusal(account: Account, name: str) -> Refusal | None:
    """Return why an account's token may not write to a repository, or make it; None if nothing stands against it.

    Args:
        account: Whose token is at hand.
        name: The repository; without an owner, one of the user's.

    >>> refusal(Account(token=VALID, name="me", role="read"), "me/model").because
    'the token of `me` may only read'
    """
    if account.token != VALID or not account.name:
        return None
    owner = name.partition("/")[0] if "/" in name else account.name
    if account.role == "read":
        return Refusal("read-only", f"the token of `{account.name}` may only read")
    return _refusal_by_owner(account, owner) or _refusal_by_scope(account, owner, name)


def _refusal_by_owner(account: Account, owner: str) -> Refusal | None:
    """Return why an account may not write to what another owns; None if it may, or is the owner."""
    if owner.lower() == account.name.lower():
        return None
    role = next((role for each, role in account.organizations.items() if each.lower() == owner.lower()), None)
    if role is None:
        return Refusal("namespace", f"`{owner}` is neither the user `{account.name}` nor {_organizations(account)}")
    if role in READERS:
        return Refusal("role", f"`{account.name}` has the role `{role}` in `{owner}`, which may not write")
    return None


def _refusal_by_scope(account: Account, owner: str, name: str) -> Refusal | None:
    if account.role == "fineGrained" and not _in_scope(account, owner, name):
        return Refusal("scope", f"the fine-grained token of `{account.name}` has no write permission for `{owner}`")
    return None


def refused_pushes(
    job: Document, account: Account, targets: Iterable[Lookup[PushTarget]], obstacle: Obstacle, advice: str = ""
) -> Iterator[Finding]:
    """Yield a finding for each push of a job against which one kind of reason stands, unless the Hub said that it may be.

    Args:
        job: The job.
        account: Whose token is at hand.
        targets: What it pushes to.
        obstacle: The kind of reason.
        advice: What to do; nothing if the reason says it.

    Raises:
        MissingFactError: There is no token whose rights could be known; or see `named.found_references`.
    """
    for reference, target in once(found_references(job, targets)):
        if account.token == ABSENT:
            raise MissingFactError("account", "no Hub token is at hand: `hf auth login` saves one")
        against = refusal(account, target.name)
        if against and against.obstacle == obstacle and target.writable != "yes":
            what = f"`{target.name}` cannot be written to: {against.because}"
            yield finding(reference, f"{what}: {advice}" if advice else what)


def _organizations(account: Account) -> str:
    named = ", ".join(f"`{name}`" for name in account.organizations)
    return f"an organization of theirs ({named})" if named else "an organization of theirs: there is none"


def _in_scope(account: Account, owner: str, name: str) -> bool:
    full = name if "/" in name else f"{owner}/{name}"
    wanted = {owner.lower(), full.lower(), EVERYTHING}
    return any(_writes(permissions) for scope, permissions in account.scopes.items() if scope.lower() in wanted)


def _writes(permissions: frozenset[str]) -> bool:
    return any(permission.startswith("repo") and permission.endswith("write") for permission in permissions)
