"""Which function answers which address.

Source: the addresses are those that the clients ask for; ids of repositories have one or two segments (`gpt2`, `acme/small`).
"""

from collections.abc import Callable
from urllib.parse import quote

from tests.helpers.hub import hardware, identity, reading, searching, storage, uploading, viewer, writing
from tests.helpers.hub.accounts import Token
from tests.helpers.hub.buckets import routes as buckets
from tests.helpers.hub.buckets import xet
from tests.helpers.hub.exchange import HubError, MovedError, Reply, Request, no_page, redirect
from tests.helpers.hub.jobs import routes as jobs
from tests.helpers.hub.repositories import Kind
from tests.helpers.hub.world import Visit, World

Answer = Callable[[Visit], Reply]
PLURALS: dict[str, Kind] = {"models": "model", "datasets": "dataset", "spaces": "space"}

# Whole addresses.
PLAIN: dict[tuple[str, str], Answer] = {
    ("GET", "/api/whoami-v2"): identity.whoami,
    ("GET", "/api/models"): searching.search,
    ("GET", "/api/datasets"): searching.search,
    ("GET", "/api/spaces"): searching.search,
    ("GET", "/api/jobs/hardware"): hardware.hardware,
    ("POST", "/api/repos/create"): writing.create,
    ("DELETE", "/api/repos/delete"): writing.delete,
    ("POST", "/api/repos/move"): writing.move,
    ("POST", "/api/validate-yaml"): identity.validate_card,
    ("POST", "/api/complete_multipart"): uploading.complete,
}
# /api/{models|datasets|spaces}/ID[/NAME[/...]]
OF_REPOSITORY: dict[tuple[str, str], Answer] = {
    ("GET", ""): reading.info,
    ("GET", "revision"): reading.info,
    ("GET", "tree"): reading.tree,
    ("POST", "paths-info"): reading.paths_info,
    ("GET", "refs"): reading.refs,
    ("GET", "commits"): reading.commits,
    ("GET", "safetensors-metadata"): reading.safetensors_metadata,
    ("GET", "auth-check"): identity.auth_check,
    ("PUT", "settings"): writing.settings,
    ("POST", "branch"): writing.create_branch,
    ("DELETE", "branch"): writing.delete_branch,
    ("POST", "tag"): writing.create_tag,
    ("DELETE", "tag"): writing.delete_tag,
    ("POST", "preupload"): uploading.preupload,
    ("POST", "commit"): uploading.commit,
}
# /api/NAME/NAMESPACE[/...]
OF_NAMESPACE: dict[str, Answer] = {
    "buckets": buckets.answer,
    "jobs": jobs.answer,
    "scheduled-jobs": jobs.answer_scheduled,
}
# /[datasets/|spaces/]ID/NAME/REVISION/PATH
OF_FILE: dict[str, Answer] = {"resolve": reading.resolve, "raw": reading.raw, "blob": reading.page}
LARGE_FILES: dict[str, Answer] = {"batch": uploading.batch, "verify": uploading.verify}
NAMES = {name for _, name in OF_REPOSITORY}


def answer(world: World, request: Request) -> Reply:
    """Return what is said to a request, whatever it is."""
    try:
        if request.outside:
            return _of_outside(world, request)
        token = world.accounts.known(request.token)
        plain = PLAIN.get((as_get(request), request.path))
        if plain is not None:
            kind = PLURALS.get(request.segments[-1], "model")
            return plain(Visit(world=world, request=request, token=token, kind=kind))
        if request.segments in ([], ["api"]):
            raise no_page()
        return _of_api(world, request, token) if request.segments[0] == "api" else _of_site(world, request, token)
    except HubError as refusal:
        return refusal.reply()


def as_get(request: Request) -> str:
    """Return the method; HEAD is answered as GET, without the body."""
    return "GET" if request.method == "HEAD" else request.method


def _of_api(world: World, request: Request, token: Token | None) -> Reply:
    segments = request.segments[1:]
    if segments[0] == "resolve-cache" and len(segments) > 1 and segments[1] in PLURALS:
        name, rest = "/".join(segments[2:4]), segments[4:]
        return _of_repository(world, request, token, (PLURALS[segments[1]], name, rest), reading.cached)
    if segments[0] in PLURALS and len(segments) > 1:
        name, rest = split_id(world, PLURALS[segments[0]], segments[1:], NAMES)
        found = OF_REPOSITORY.get((as_get(request), rest[0] if rest else ""))
        if found is not None:
            return _of_repository(world, request, token, (PLURALS[segments[0]], name, rest[1:]), found)
    if segments[0] in OF_NAMESPACE and len(segments) > 1:
        return OF_NAMESPACE[segments[0]](Visit(world=world, request=request, token=token, rest=tuple(segments[1:])))
    if segments[0] in ("users", "organizations") and segments[2:] == ["overview"]:
        return identity.overview(Visit(world=world, request=request, token=token, rest=tuple(segments)))
    raise no_page()


def _of_site(world: World, request: Request, token: Token | None) -> Reply:
    segments = request.segments
    if segments[0] == "buckets" and segments[3:4] == ["resolve"]:
        return buckets.resolve(Visit(world=world, request=request, token=token, rest=tuple(segments[1:])))
    kind: Kind = PLURALS[segments[0]] if segments[0] in ("datasets", "spaces") else "model"
    segments = segments[kind != "model" :]
    if not segments:
        raise no_page()
    path = "/".join(segments)
    if ".git/info/lfs/objects/" in path:
        name, _, verb = path.partition(".git/info/lfs/objects/")
        found = LARGE_FILES.get(verb)
        rest = [verb]
    else:
        name, rest = split_id(world, kind, segments, set(OF_FILE))
        found = (OF_FILE.get(rest[0]) if rest[1:] else None) if rest else reading.page
    if found is None:
        raise no_page()
    return _of_repository(world, request, token, (kind, name, rest[1:]), found)


def _of_outside(world: World, request: Request) -> Reply:
    if request.path in world.pages:
        page = world.pages[request.path]
        return Reply(status=page.status, body=page.content, headers={"Content-Type": page.media_type})
    if request.segments[:1] in (["large"], ["upload"]):
        return storage.answer(Visit(world=world, request=request, token=None, rest=tuple(request.segments[1:])))
    if request.segments[:1] == [world.buckets.store]:
        return xet.answer(Visit(world=world, request=request, token=None, rest=tuple(request.segments[1:])))
    token = world.accounts.known(request.token)
    return viewer.answer(Visit(world=world, request=request, token=token, kind="dataset"))


def _of_repository(
    world: World, request: Request, token: Token | None, target: tuple[Kind, str, list[str]], found: Answer
) -> Reply:
    kind, name, rest = target
    try:
        repo = world.find(kind, name, token)
    except MovedError as moved:
        place = redirected(request, name, moved.name)
        return redirect(place, 307)
    return found(Visit(world=world, request=request, token=token, rest=tuple(rest), found=repo, kind=kind))


def redirected(request: Request, old: str, new: str) -> str:
    """Return the address asked for, with a repository's new name in place of the old one; relative, as the Hub's."""
    query = "&".join(f"{quote(key)}={quote(value)}" for key, value in request.query)
    path = request.path.replace(f"/{old}", f"/{new}", 1)
    return f"{path}?{query}" if query else path


def split_id(world: World, kind: Kind, segments: list[str], names: set[str]) -> tuple[str, list[str]]:
    """Return a repository's id and what follows it: `gpt2` has one segment, where the next one names a route and not a repository."""
    both = "/".join(segments[:2])
    known = (kind, both) in world.repositories or (kind, both) in world.moved
    named = bool(names.intersection(segments[1:2])) and not names.intersection(segments[2:3])
    size = 1 if named and not known else 2
    return "/".join(segments[:size]), segments[size:]
