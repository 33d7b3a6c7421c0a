"""Repositories: whether they are there, for whom, at which revision, with which files.

Source: the answers that huggingface_hub 2.4 parses in `HfApi.repo_info`, `auth_check` and `list_repo_refs`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final
from urllib.parse import quote

from holdfast.adapters.hub.nearest import find_nearest
from holdfast.adapters.hub.session import UNAUTHORIZED, HubSession
from holdfast.adapters.hub.wire import Reply
from holdfast.core.check.hub import Repo, RepoKind
from holdfast.core.errors import SourceError

Json = Mapping[str, Any]
FORBIDDEN: Final = frozenset({401, 403})
NOT_FOUND: Final = 404
ABSENT: Final = ("RepoNotFound", "RevisionNotFound")
MAIN: Final = "main"


def fetch_info(asking: HubSession, kind: RepoKind, name: str, revision: str | None = None) -> Json | None:
    """Return the Hub's record of a repository at a revision; None if there is none.

    Raises:
        SourceError: The Hub does not say.
    """
    return asking.once(("info", kind, name, revision), partial(_fetch_info, asking, kind, name, revision))


def fetch_info_now(asking: HubSession, kind: RepoKind, name: str, revision: str | None) -> Json | None:
    """Return the Hub's record of a repository at a revision, bypassing the cache; None if there is none.

    Raises:
        SourceError: The Hub does not say.
    """
    (info,) = asking.together(partial(_fetch_info, asking, kind, name, revision))
    if isinstance(info, SourceError):
        raise info
    found: Json | None = info
    return found


def _fetch_info(asking: HubSession, kind: RepoKind, name: str, revision: str | None) -> Json | None:
    if not is_valid(name):
        return None
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    reply = asking.api(f"{kind}s/{name}{at}", blobs="true")
    if reply.ok:
        return reply.mapping()
    if _is_absent(reply):
        return None
    raise reply.unexpected()


def is_valid(name: str) -> bool:
    """True if the Hub takes a name: with `validate_repo_id`, as all clients."""
    utils = import_module("huggingface_hub.utils")
    try:
        utils.validate_repo_id(name)
    except ValueError:
        return False
    return True


def _is_absent(reply: Reply) -> bool:
    """True if there is no such repository or revision; to those without a token the Hub says 401 of that.

    A host that is no Hub says 404 of everything, but not in the Hub's words.
    """
    if reply.status == NOT_FOUND:
        return reply.code in ABSENT or b'"error"' in reply.body
    return reply.status == UNAUTHORIZED and reply.code in ("", *ABSENT)


def fetch_repo(asking: HubSession, kind: RepoKind, name: str, revision: str | None = None) -> Repo:
    """Return a repository as this token sees it; one that is not there comes with the nearest that are.

    Raises:
        SourceError: The Hub does not say.
    """
    return asking.once(("repo", kind, name, revision), partial(_fetch_repo, asking, kind, name, revision))


def _fetch_repo(asking: HubSession, kind: RepoKind, name: str, revision: str | None) -> Repo:
    info = fetch_info(asking, kind, name, revision)
    if info is not None:
        return _parse_repo(asking, kind, name, info)
    at_main = fetch_info(asking, kind, name) if revision else None
    if at_main is None:
        return Repo(
            name=name, kind=kind, exists=False, readable=False, commit=None, nearest=find_nearest(asking, kind, name)
        )
    found, revisions = asking.together(
        partial(_parse_repo, asking, kind, name, at_main), partial(_fetch_revisions, asking, kind, name)
    )
    if isinstance(found, SourceError):
        raise found
    return _at_no_revision(found, () if isinstance(revisions, SourceError) else revisions)


def _at_no_revision(repo: Repo, revisions: tuple[str, ...]) -> Repo:
    return Repo(
        name=repo.name,
        kind=repo.kind,
        private=repo.private,
        gated=repo.gated,
        readable=repo.readable,
        commit=None,
        modified_s=repo.modified_s,
        revisions=revisions,
    )


def _parse_repo(asking: HubSession, kind: RepoKind, name: str, info: Json) -> Repo:
    gated = info.get("gated")
    closed = bool(gated or info.get("private") or info.get("disabled"))
    return Repo(
        name=text_at(info, "id") or text_at(info, "modelId") or name,
        kind=kind,
        private=info.get("private") is True,
        gated=gated if gated in ("auto", "manual") else "",
        readable=not closed or _may_read(asking, kind, text_at(info, "id") or name),
        commit=text_at(info, "sha") or None,
        files=dict(parse_files(info)),
        modified_s=parse_time(text_at(info, "lastModified")),
    )


def _may_read(asking: HubSession, kind: RepoKind, name: str) -> bool:
    """True if this token may read a repository's files."""
    reply = asking.api(f"{kind}s/{name}/auth-check")
    if reply.ok:
        return True
    if reply.status in FORBIDDEN or reply.status == NOT_FOUND:
        return False
    raise reply.unexpected()


def may_write(asking: HubSession, kind: RepoKind, name: str) -> bool | None:
    """True if this token may write to a repository that it sees; None if the Hub does not say.

    Source: `HfApi.auth_check(write=True)`, huggingface_hub 2.4.
    """
    reply = asking.api(f"{kind}s/{name}/auth-check/write")
    if reply.ok:
        return True
    return False if reply.status in FORBIDDEN else None


def _fetch_revisions(asking: HubSession, kind: RepoKind, name: str) -> tuple[str, ...]:
    reply = asking.api(f"{kind}s/{name}/refs")
    if not reply.ok:
        raise reply.unexpected()
    refs = reply.mapping()
    return tuple(text_at(each, "name") for each in [*entries_at(refs, "branches"), *entries_at(refs, "tags")])


def parse_files(info: Json) -> Iterable[tuple[str, int | None]]:
    """Yield path and size in bytes of each file that the Hub tells of; None for a size that it does not tell."""
    for each in entries_at(info, "siblings"):
        size = each.get("size")
        yield text_at(each, "rfilename"), size if isinstance(size, int) else None


def parse_time(stamp: str) -> float:
    """Return the Unix time of a moment as the Hub writes it, 0 if it is none.

    >>> parse_time("2026-01-02T00:00:00.000Z"), parse_time("")
    (1767312000.0, 0.0)
    """
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def text_at(value: Any, key: str) -> str:
    """Return the text under a key of what may be a mapping; empty if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def entries_at(value: Any, key: str) -> list[Json]:
    """Return the mappings in the list under a key of what may be a mapping."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
