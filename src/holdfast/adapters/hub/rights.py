"""What the token may write to: asked once, and passed on to a rehearsal's dry Hub, which cannot ask.

Source: `GET /api/whoami-v2`, and the roles of `targets`.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from holdfast.adapters.hub import open_hub
from holdfast.adapters.hub.settings import find_token
from holdfast.adapters.hub.targets import judge
from holdfast.core.check.hub import Account
from holdfast.core.errors import HoldfastError
from holdfast.payload.rehearsal.part_request import ANY

NEW: Final = "?"
"""In place of a repository that no token is for alone."""


def read_rights() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the SHA-256 of the token at hand, and what it may write to; both empty if it is not known.

    The second is by repository, by owner, and by `ANY` for all others: `yes` or `no: because`; what is unknown is left out.
    """
    token = find_token()
    try:
        account = open_hub(anew=True).account() if token else None
    except HoldfastError:
        return "", ()
    if account is None or not account.name or token is None:
        return "", ()
    return hashlib.sha256(token.encode()).hexdigest(), tuple(list_rights(account))


def list_rights(account: Account) -> Iterator[tuple[str, str]]:
    """Yield each namespace that an account's token may write to, and each that it may not.

    >>> [*list_rights(Account(token="valid", name="ada", role="write"))][0]
    ('ada', 'yes')
    """
    alone = (scope for scope in account.scopes if "/" in scope)
    for name in (account.name, *account.organizations, *alone, ANY):
        may, because = judge(account, name if "/" in name else f"{name}/{NEW}", exists=False)
        if may != "unknown":
            yield name, "yes" if may == "yes" else f"no: {because}"
