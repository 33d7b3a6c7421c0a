"""What is written of a repository beside its files: making, deleting, moving, settings, branches and tags.

Source: `HfApi.create_repo`, `delete_repo`, `move_repo`, `update_repo_settings`, `create_branch`, `create_tag` and their counterparts of
huggingface_hub 2.4.0; texts of refusals as quoted in public issues. A new repository has a commit already, with a `.gitattributes`.
"""

from typing import Any

from tests.helpers.hub.buckets import routes as buckets
from tests.helpers.hub.exchange import HubError, Reply, as_json, unseen
from tests.helpers.hub.repositories import ATTRIBUTES, MAIN, Kind, Repository, Signed
from tests.helpers.hub.world import Visit


def create(visit: Visit) -> Reply:
    """POST /api/repos/create."""
    token, asked = visit.signed_in(), visit.request.json()
    world = visit.world
    world.created.append(asked)
    kind, name = _named(visit, asked)
    namespace = name.partition("/")[0]
    if not world.accounts.creates(token, kind, name):
        raise HubError(403, f'You don\'t have the rights to create a {kind} under the namespace "{namespace}"')
    if (kind, name) in world.repositories:
        told = world.page_of(world.repositories[kind, name])
        raise HubError(409, f"You already created this {kind} repo", more={"url": told})
    private = asked.get("visibility") == "private" or bool(asked.get("private"))
    repo = Repository(name=name, kind=kind, made_s=visit.now_s, private=private, created_by=token.user.name)
    repo.sdk = asked.get("sdk") or repo.sdk
    attributes = {".gitattributes": repo.file(".gitattributes", ATTRIBUTES.encode(), None)}
    repo.extend(None, attributes, (), Signed("initial commit", author=token.user.name, made_s=visit.now_s), MAIN)
    world.repositories[kind, name] = repo
    world.moved.pop((kind, name), None)
    return as_json({"url": world.page_of(repo), "name": name, "id": name})


def delete(visit: Visit) -> Reply:
    """DELETE /api/repos/delete."""
    kind, name = _named(visit, visit.request.json())
    _owned(visit, kind, name)
    del visit.world.repositories[kind, name]
    return Reply(body=b"OK")


def move(visit: Visit) -> Reply:
    """POST /api/repos/move: another name, to which the old one leads."""
    asked = visit.request.json()
    if asked.get("type") == "bucket":
        return buckets.move(visit)
    kind: Kind = asked.get("type") or "model"
    old, new = asked["fromRepo"], asked["toRepo"]
    _owned(visit, kind, old)
    if not visit.world.accounts.creates(visit.signed_in(), kind, new):
        raise HubError(
            403, f'You don\'t have the rights to create a {kind} under the namespace "{new.partition("/")[0]}"'
        )
    if (kind, new) in visit.world.repositories:
        raise HubError(409, f"This {kind} repo already exists: {new}")
    visit.world.rename(kind, old, new)
    return Reply(body=b"OK")


def settings(visit: Visit) -> Reply:
    """PUT .../settings: visibility and gating."""
    visit.check_writes()
    asked = visit.request.json()
    if "visibility" in asked:
        visit.repo.private = asked["visibility"] == "private"
    if "private" in asked:
        visit.repo.private = asked["private"]
    if "gated" in asked:
        visit.repo.gated = asked["gated"] or ""
    return as_json({"private": visit.repo.private, "gated": visit.repo.gated or False})


def create_branch(visit: Visit) -> Reply:
    """POST .../branch/NAME."""
    visit.check_writes()
    name = "/".join(visit.rest)
    if name in visit.repo.branches:
        raise HubError(409, f"Reference already exists: refs/heads/{name}")
    visit.repo.branch(name, visit.request.json().get("startingPoint", MAIN))
    return as_json({})


def delete_branch(visit: Visit) -> Reply:
    """DELETE .../branch/NAME."""
    visit.check_writes()
    name = "/".join(visit.rest)
    if name == MAIN:
        raise HubError(403, "Cannot delete refs/heads/main: this branch is protected")
    if visit.repo.branches.pop(name, None) is None:
        raise HubError(404, f"Reference does not exist: refs/heads/{name}", "RevisionNotFound")
    return Reply(status=204)


def create_tag(visit: Visit) -> Reply:
    """POST .../tag/REVISION: name a commit."""
    visit.check_writes()
    name = visit.request.json()["tag"]
    if name in visit.repo.labels:
        raise HubError(409, f"Tag reference exists already: refs/tags/{name}")
    visit.repo.tag(name, "/".join(visit.rest))
    return as_json({})


def delete_tag(visit: Visit) -> Reply:
    """DELETE .../tag/NAME."""
    visit.check_writes()
    name = "/".join(visit.rest)
    if visit.repo.labels.pop(name, None) is None:
        raise HubError(404, f"Reference does not exist: refs/tags/{name}", "RevisionNotFound")
    return Reply(status=204)


def _named(visit: Visit, asked: dict[str, Any]) -> tuple[Kind, str]:
    name = asked["name"]
    if "/" not in name:
        name = f"{asked.get('organization') or visit.signed_in().user.name}/{name}"
    return asked.get("type") or "model", name


def _owned(visit: Visit, kind: Kind, name: str) -> Repository:
    token = visit.signed_in()
    repo = visit.world.repositories.get((kind, name))
    if repo is None or not visit.world.accounts.sees(token, repo):
        raise unseen(known=True)
    if not visit.world.accounts.writes(token, repo):
        raise HubError(403, "Authorization error.")
    return repo
