"""Whose token is at hand, and what it is for.

Source: the fields of `GET /api/whoami-v2` that huggingface_hub 2.4 reads (`_oauth.py`, `_login.py`); of fine-grained tokens, what public clients
parse: `auth.accessToken.fineGrained.scoped`, each with an `entity` and its `permissions`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from holdfast.adapters.hub.repos import entries_at, text_at
from holdfast.adapters.hub.session import HubSession, TokenRefusedError
from holdfast.adapters.hub.wire import UnsendableTokenError
from holdfast.core.check.hub import Account


def fetch_account(asking: HubSession) -> Account:
    """Return whose token is at hand. Without one, no request is sent.

    Raises:
        SourceError: The Hub does not say.
    """
    if asking.token() is None:
        return _stated("absent")
    return asking.once(("account",), partial(_fetch_account, asking))


def _fetch_account(asking: HubSession) -> Account:
    try:
        reply = asking.api("whoami-v2")
    except (TokenRefusedError, UnsendableTokenError):
        return _stated("refused")
    if reply.status == 401:  # noqa: PLR2004 - as HTTP has it
        return _stated("refused")
    if not reply.ok:
        raise reply.unexpected()
    return parse_account(reply.mapping())


def reach(asking: HubSession) -> None:
    """Ask the Hub something, to see that it answers.

    Raises:
        SourceError: It does not.
    """
    try:
        reply = asking.api("whoami-v2")
    except (TokenRefusedError, UnsendableTokenError):
        return
    if not reply.ok and reply.status != 401:  # noqa: PLR2004 - as HTTP has it, for who has no token
        raise reply.unexpected()


def parse_account(record: Mapping[str, Any]) -> Account:
    """Return an account as the Hub describes it."""
    auth = record.get("auth")
    token = auth.get("accessToken") if isinstance(auth, Mapping) else None
    fine = token.get("fineGrained") if isinstance(token, Mapping) else None
    return replace(
        _stated("valid"),
        name=text_at(record, "name"),
        role=text_at(token, "role"),
        organizations={text_at(each, "name"): text_at(each, "roleInOrg") for each in entries_at(record, "orgs")},
        scopes=_parse_scopes(fine),
        pays=record["canPay"] if isinstance(record.get("canPay"), bool) else None,
    )


def _stated(token: Literal["valid", "refused", "absent"]) -> Account:
    return Account(token=token)


def _parse_scopes(fine: Any) -> dict[str, frozenset[str]]:
    """Return the permissions of a fine-grained token by whom or what they are for; those for everything under `global`."""
    scopes: dict[str, frozenset[str]] = {}
    for each in entries_at(fine, "scoped"):
        name = text_at(each.get("entity"), "name")
        scopes[name] = scopes.get(name, frozenset()) | _texts(each.get("permissions"))
    everywhere = _texts(fine.get("global")) if isinstance(fine, Mapping) else frozenset[str]()
    return scopes | ({"global": everywhere} if everywhere else {})


def _texts(value: Any) -> frozenset[str]:
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()
