"""Users, organizations and tokens, and who may do what.

Source: the fields of `GET /api/whoami-v2` are those that `huggingface_hub.hf_api.User` and `Organization` read, and what public clients
of the fine-grained part parse: `auth.accessToken.fineGrained` is `{canReadGatedRepos, global: [...], scoped: [{entity: {_id, type, name}, permissions:
[...]}]}` with permissions such as `repo.content.read`, `repo.write`, `job.write`, `inference.serverless.write`. Roles in an organization are the
Hub's documented ones: read, contributor (creates, and writes to what it created), write, admin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any, Literal

from tests.helpers.hub.exchange import HubError
from tests.helpers.hub.repositories import Kind, Repository, iso

OrganizationRole = Literal["read", "contributor", "write", "admin"]
TokenRole = Literal["read", "write", "fineGrained"]
WRITE, READ = "repo.write", "repo.content.read"
SINCE_S = 1_735_689_600.0  # 2025-01-01, when everybody joined


@dataclass(slots=True, kw_only=True)
class User:
    """A person. `pays` is whether there is a way to pay for jobs."""

    name: str
    pays: bool = True
    pro: bool = False


@dataclass(slots=True, kw_only=True)
class Organization:
    """An organization; `members` are roles by user."""

    name: str
    members: dict[str, OrganizationRole] = field(default_factory=dict[str, OrganizationRole])
    pays: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What a fine-grained token may do with one thing.

    Attributes:
        kind: `user` or `org`, with all of its repositories; or `model`, `dataset`, `space`.
        name: Of that.
        permissions: As the Hub spells them: `repo.content.read`, `repo.write`, `job.write`.
    """

    kind: Literal["user", "org", "model", "dataset", "space"]
    name: str
    permissions: tuple[str, ...] = (READ, WRITE)

    def covers(self, kind: Kind, name: str) -> bool:
        """True if it is about a repository."""
        if self.kind in ("user", "org"):
            return self.name == name.partition("/")[0]
        return (self.kind, self.name) == (kind, name)


@dataclass(slots=True, kw_only=True)
class Token:
    """An access token.

    Attributes:
        text: What is sent.
        user: Whose it is.
        role: What it may do at all.
        label: Its name in the settings.
        scopes: Of a fine-grained one.
        everywhere: Permissions of a fine-grained one that are not about one thing: `discussion.write`.
        reads_gated: Whether a fine-grained one may read public gated repositories that the user has access to.
    """

    text: str
    user: User
    role: TokenRole = "write"
    label: str = "test"
    scopes: tuple[Scope, ...] = ()
    everywhere: tuple[str, ...] = ()
    reads_gated: bool = True

    def allows(self, permission: str, kind: Kind, name: str) -> bool:
        """True if the token itself, whatever its user may do, stretches to something."""
        if self.role != "fineGrained":
            return self.role == "write" or permission == READ
        wanted = (permission, WRITE) if permission == READ else (permission,)
        return any(one in scope.permissions for scope in self.scopes if scope.covers(kind, name) for one in wanted)

    def allows_in(self, permission: str, namespace: str) -> bool:
        """True if the token itself stretches to a whole namespace."""
        if self.role != "fineGrained":
            return self.role == "write"
        return any(
            permission in one.permissions
            for one in self.scopes
            if one.kind in ("user", "org") and one.name == namespace
        )


class Accounts:
    """Everybody, and what they may do."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.organizations: dict[str, Organization] = {}
        self.tokens: dict[str, Token] = {}

    def known(self, text: str | None) -> Token | None:
        """Return the token that was sent, None if none was.

        Raises:
            HubError: It is not valid. The Hub then refuses everything, also what needs no token.
        """
        if text is None:
            return None
        if text not in self.tokens:
            raise HubError(401, "Invalid credentials in Authorization header")
        return self.tokens[text]

    def sees(self, token: Token | None, repo: Repository) -> bool:
        """True if a repository exists, as far as this token can tell."""
        if not repo.private:
            return True
        return token is not None and self._belongs(token, repo) and token.allows(READ, repo.kind, repo.name)

    def check_reads(self, token: Token | None, repo: Repository, address: str) -> None:
        """Raise if files may not be read by this token.

        Raises:
            HubError: It is gated, and why.
        """
        if not repo.gated or (token and self._belongs(token, repo)):
            return
        subject = f"Access to {repo.kind} {repo.name} is restricted"
        if token is None:
            because = f"{subject}. You must have access to it and be authenticated to access it. Please log in."
            raise HubError(401, because, "GatedRepo")
        if token.user.name not in repo.access:
            waiting = f"Your request to access {repo.kind} {repo.name} is awaiting a review from the repo authors."
            refused = f"{subject} and you are not in the authorized list. Visit {address} to ask for access."
            because = waiting if token.user.name in repo.asked else refused
            raise HubError(403, because, "GatedRepo")
        if token.role == "fineGrained" and not token.reads_gated:
            because = "Please enable access to public gated repositories in your fine-grained token settings to view this repository."
            raise HubError(403, because, "GatedRepo")

    def writes(self, token: Token | None, repo: Repository) -> bool:
        """True if this token may change a repository."""
        if token is None or not token.allows(WRITE, repo.kind, repo.name):
            return False
        own = repo.created_by == token.user.name and self._role(token.user, repo.namespace) == "contributor"
        return own or self._role(token.user, repo.namespace) in ("write", "admin")

    def creates(self, token: Token, kind: Kind, name: str) -> bool:
        """True if this token may make a repository of that name."""
        role = self._role(token.user, name.partition("/")[0])
        return role in ("contributor", "write", "admin") and token.allows(WRITE, kind, name)

    def belongs(self, token: Token | None, namespace: str) -> bool:
        """True if a token's user is the namespace, or a member of it."""
        return token is not None and self._role(token.user, namespace) != ""

    def writes_in(self, token: Token, namespace: str, permission: str = WRITE) -> bool:
        """True if this token may do something with a whole namespace: write to its buckets, or run jobs (`job.write`)."""
        role = self._role(token.user, namespace)
        return role in ("write", "admin") and token.allows_in(permission, namespace)

    def pays(self, namespace: str) -> bool:
        """True if a namespace has credit for jobs."""
        owner = self.users.get(namespace) or self.organizations.get(namespace)
        return owner is not None and owner.pays

    def whoami(self, token: Token) -> dict[str, Any]:
        """Return what the Hub says of a token and its user."""
        user = token.user
        orgs = [
            _organization(org, org.members[user.name])
            for org in self.organizations.values()
            if user.name in org.members
        ]
        return {
            "type": "user",
            "id": identifier("user", user.name),
            "name": user.name,
            "fullname": user.name.title(),
            "email": f"{user.name}@example.org",
            "emailVerified": True,
            "canPay": user.pays,
            "billingMode": "prepaid",
            "periodEnd": None,
            "isPro": user.pro,
            "avatarUrl": f"/avatars/{user.name}.svg",
            "orgs": orgs,
            "auth": {"type": "access_token", "accessToken": _token(token)},
        }

    def _belongs(self, token: Token, repo: Repository) -> bool:
        return self._role(token.user, repo.namespace) != ""

    def _role(self, user: User, namespace: str) -> str:
        if user.name == namespace:
            return "admin"
        organization = self.organizations.get(namespace)
        return organization.members.get(user.name, "") if organization else ""


def _organization(organization: Organization, role: str) -> dict[str, Any]:
    return {
        "type": "org",
        "id": identifier("org", organization.name),
        "name": organization.name,
        "fullname": organization.name.title(),
        "email": None,
        "canPay": organization.pays,
        "billingMode": "postpaid",
        "periodEnd": None,
        "isEnterprise": False,
        "avatarUrl": f"/avatars/{organization.name}.svg",
        "roleInOrg": role,
    }


def _token(token: Token) -> dict[str, Any]:
    told: dict[str, Any] = {"displayName": token.label, "role": token.role, "createdAt": iso(SINCE_S)}
    if token.role == "fineGrained":
        told["fineGrained"] = {
            "canReadGatedRepos": token.reads_gated,
            "global": list(token.everywhere),
            "scoped": [
                {
                    "entity": {"_id": identifier(scope.kind, scope.name), "type": scope.kind, "name": scope.name},
                    "permissions": list(scope.permissions),
                }
                for scope in token.scopes
            ],
        }
    return told


def identifier(*names: str) -> str:
    """Return 24 hexadecimal digits, as the Hub's `_id`."""
    return md5("/".join(names).encode(), usedforsecurity=False).hexdigest()[:24]


def overview(name: str, users: Mapping[str, User]) -> dict[str, Any]:
    """Return what anyone is told of a user."""
    return {"user": name, "type": "user", "isPro": users[name].pro, "fullname": name.title()}
