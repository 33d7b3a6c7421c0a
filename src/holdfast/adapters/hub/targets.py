"""Where a token may write.

Source: the Hub's documented roles: in an organization `read` writes nothing, `contributor` makes repositories and writes to its own, `write` and
`admin` write to all. Where the repository exists the Hub itself is asked, as `HfApi.auth_check(write=True)` of huggingface_hub 2.4 does.
"""

from functools import partial
from typing import Final

from holdfast.adapters.hub.accounts import fetch_account
from holdfast.adapters.hub.repos import fetch_info, fetch_repo, may_write
from holdfast.adapters.hub.session import HubSession
from holdfast.catalog.hub.permissions import refusal
from holdfast.core.check.hub import Account, May, PushTarget, Repo, RepoKind
from holdfast.core.errors import SourceError

ROLES: Final = ("write", "fineGrained")
Judgement = tuple[May, str]
BECAUSE: Final[dict[str, Judgement]] = {
    "refused": ("no", "the Hub refuses the token"),
    "absent": ("unknown", "there is no token"),
}
"""What is to be said of a target without a valid token: another may be at hand where the job runs, if there is none here."""


def fetch_target(asking: HubSession, kind: RepoKind, name: str) -> PushTarget:
    """Return what this token may do to a repository: write to it, or create it.

    Raises:
        SourceError: The Hub does not say.
    """
    owner, _, own = name.rpartition("/")
    # Answers about the repository are remembered, so the question may come before its answer is needed.
    account, _ = asking.together(
        partial(fetch_account, asking), partial(fetch_info, asking, kind, name) if owner else bool
    )
    if isinstance(account, SourceError):
        raise account
    owner = owner or account.name
    full = f"{owner}/{own}" if owner else own
    if account.token in BECAUSE:
        writable, because = BECAUSE[account.token]
        return PushTarget(name=full, namespace=owner, writable=writable, because=because)
    # Of one that is not there, no others with like names are looked for: it may be new.
    repo = fetch_repo(asking, kind, full) if fetch_info(asking, kind, full) is not None else None
    writable, because = _decide(asking, account, full, repo)
    return PushTarget(name=repo.name if repo else full, namespace=owner, repo=repo, writable=writable, because=because)


def _decide(asking: HubSession, account: Account, full: str, repo: Repo | None) -> Judgement:
    judgement = judge(account, full, exists=repo is not None)
    if repo is None or account.role == "read":
        return judgement
    allowed = may_write(asking, repo.kind, repo.name)
    if allowed is None:
        return judgement
    return (
        ("yes", "")
        if allowed
        else ("no", judgement[1] or f"the Hub does not let {account.name} write to it with this token")
    )


def judge(account: Account, full: str, *, exists: bool) -> Judgement:
    """Return the judgement, by what the token says of itself, on whether it may write to a repository.

    Args:
        account: The account of a valid token.
        full: The repository, with its namespace.
        exists: Whether it is there already.

    >>> judge(Account(token="valid", name="ada", role="write"), "ada/new", exists=False)
    ('yes', '')
    """
    against = refusal(account, full)
    if against:
        return "no", against.because
    if account.role not in ROLES:
        return "unknown", "the Hub does not say what the token may do"
    owner = full.partition("/")[0].lower()
    role = "admin" if owner == account.name.lower() else _role(account, owner)
    if role in ("admin", "write") or (role == "contributor" and not exists):
        return "yes", ""
    return "unknown", f"`{account.name}` is {role or 'a member'} in `{owner}`"


def _role(account: Account, owner: str) -> str:
    return next((role for name, role in account.organizations.items() if name.lower() == owner), "")
