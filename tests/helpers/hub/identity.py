"""Who is asking, and small change.

Source: `HfApi.whoami`, `auth_check`, `get_user_overview`, `get_organization_overview` and `RepoCard.validate` of huggingface_hub 2.4.0.
"""

import yaml  # type: ignore[import-untyped] # its stubs are not installed

from tests.helpers.hub.accounts import overview as user_overview
from tests.helpers.hub.exchange import HubError, Reply, as_json, no_page
from tests.helpers.hub.metadata import card_text
from tests.helpers.hub.world import Visit


def whoami(visit: Visit) -> Reply:
    """GET /api/whoami-v2: whose token this is."""
    return as_json(visit.world.accounts.whoami(visit.signed_in()))


def auth_check(visit: Visit) -> Reply:
    """GET .../auth-check[/write]: whether this token may read the files, or write them."""
    if visit.rest == ("write",):
        visit.check_writes()
    visit.check_reads()
    return Reply()


def overview(visit: Visit) -> Reply:
    """GET /api/users/NAME/overview and /api/organizations/NAME/overview: whether there is such a namespace."""
    plural, name, _ = visit.rest
    accounts = visit.world.accounts
    if plural == "users" and name in accounts.users:
        return as_json(user_overview(name, accounts.users))
    if plural == "organizations" and name in accounts.organizations:
        members = accounts.organizations[name].members
        return as_json({"name": name, "fullname": name.title(), "numUsers": len(members), "avatarUrl": ""})
    raise HubError(404, "This user does not exist") if plural == "users" else no_page()


def validate_card(visit: Visit) -> Reply:
    """POST /api/validate-yaml: whether the head of a README is YAML."""
    text = card_text(visit.request.json()["content"])
    if text is None:
        warning = {"message": "empty or missing yaml metadata in repo card"}
        return as_json({"errors": [], "warnings": [warning]})
    try:
        yaml.safe_load(text)
    except yaml.YAMLError as error:
        return as_json({"error": "Invalid YAML", "errors": [{"message": str(error)}], "warnings": []}, 400)
    return as_json({"errors": [], "warnings": []})
