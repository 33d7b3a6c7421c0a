"""Uploads: preupload asks how each file has to travel, LFS takes the large ones, a commit names them all.

Source: `_fetch_upload_modes`, `lfs.post_lfs_batch_info`, `_upload_multi_part` and `_prepare_commit_payload` of huggingface_hub 2.4.0; the git-lfs batch
API. The refusal at a stale `parentCommit` is quoted by huggingface_hub's own tests.
"""

import base64
import json
from collections.abc import Iterable
from fnmatch import fnmatch
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from tests.helpers.hub.exchange import HubError, Reply, as_json
from tests.helpers.hub.repositories import Commit, File, Signed, is_large
from tests.helpers.hub.world import Visit

MEDIA = {"Content-Type": "application/vnd.git-lfs+json"}
PULL_INSTEAD = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"


def preupload(visit: Visit) -> Reply:
    """POST .../preupload/REVISION: which files travel in the commit, which beside it, which not at all."""
    commit = _base(visit)
    asked = visit.request.json()
    ignored = asked.get("gitIgnore")
    if ignored is None:
        ignored = commit.files[".gitignore"].content.decode() if ".gitignore" in commit.files else ""
    told = []
    for file in asked["files"]:
        path, there = file["path"], commit.files.get(file["path"])
        mode = "lfs" if is_large(path, file["size"], commit) else "regular"
        ignore = any(fnmatch(path, line.strip()) for line in ignored.splitlines() if line.strip())
        told.append(
            {
                "path": path,
                "uploadMode": mode,
                "shouldIgnore": ignore,
                "oid": (there.sha256 if there.large else there.oid) if there else None,
            }
        )
    return as_json({"files": told, "commitOid": commit.oid})


def batch(visit: Visit) -> Reply:
    """POST /ID.git/info/lfs/objects/batch: where large files are to be put; nowhere if they are there."""
    token = visit.signed_in()
    asked = visit.request.json()
    if not visit.world.accounts.writes(token, visit.repo) and token.role == "read":
        raise HubError(403, "Authorization error.")
    multipart = any(one["size"] > visit.world.part_bytes for one in asked["objects"])
    multipart = multipart and "multipart" in asked.get("transfers", [])
    objects = [_object(visit, one, multipart=multipart) for one in asked["objects"]]
    return as_json({"transfer": "multipart" if multipart else "basic", "objects": objects}, headers=MEDIA)


def _object(visit: Visit, asked: dict[str, Any], *, multipart: bool) -> dict[str, Any]:
    oid, size, world = asked["oid"], asked["size"], visit.world
    told: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
    if world.content(oid) is not None:
        return told
    upload: dict[str, Any] = {"href": f"{world.outside}/upload/{oid}"}
    if multipart and size > world.part_bytes:
        parts = range(1, -(-size // world.part_bytes) + 1)
        urls = {f"{part:05}": f"{world.outside}/upload/{oid}/{part}" for part in parts}
        told_parts = {"chunk_size": str(world.part_bytes)} | urls
        upload = {"href": f"{world.address}/api/complete_multipart?uploadId={oid}", "header": told_parts}
    verify = {"href": f"{world.page_of(visit.repo)}.git/info/lfs/objects/verify"}
    return told | {"actions": {"upload": upload, "verify": verify}}


def complete(visit: Visit) -> Reply:
    """POST /api/complete_multipart: put the parts together."""
    oid = visit.request.get("uploadId")
    parts = visit.world.parts.pop(oid, {})
    content = b"".join(parts[number] for number in sorted(parts))
    if sha256(content).hexdigest() != oid:
        raise HubError(400, "The parts do not make up the object")
    visit.world.large[oid] = content
    return as_json({}, headers=MEDIA)


def verify(visit: Visit) -> Reply:
    """POST /ID.git/info/lfs/objects/verify: whether a large file has arrived."""
    asked = visit.request.json()
    content = visit.world.content(asked["oid"])
    if content is None or len(content) != asked["size"]:
        raise HubError(404, "Object not found on the server")
    return as_json({}, headers=MEDIA)


def commit(visit: Visit) -> Reply:
    """POST .../commit/REVISION: files by content or by reference, deletions and copies, a line each."""
    world, repo = visit.world, visit.repo
    before = _base(visit)
    lines = [json.loads(line) for line in visit.request.body.splitlines() if line.strip()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    parent = header.get("parentCommit")
    if parent and not before.oid.startswith(parent):
        raise HubError(412, "A commit has happened since. Please refresh and try again.")
    gone = tuple(_gone(lines, before))
    made = {line["value"]["path"]: _content(visit, line, before) for line in lines if line["key"] in CARRIES}
    made = {path: file for path, file in made.items() if not path.endswith(world.lost or ("/",))}
    pull = visit.request.says("create_pr")
    if not pull and not gone and all(before.files.get(path) == file for path, file in made.items()):
        return _told(visit, before)
    signed = Signed(header["summary"], header.get("description", ""), visit.signed_in().user.name, visit.now_s)
    after = repo.extend(before, made, gone, signed, None if pull or visit.revision in repo.hidden else visit.revision)
    ref = f"refs/pr/{len(repo.hidden) + 1}" if pull else visit.revision
    if pull or visit.revision in repo.hidden:
        repo.hidden[ref] = after
    world.commits.append(after)
    return _told(visit, after, ref.rpartition("/")[2] if pull else "")


CARRIES = ("file", "lfsFile", "copyFile")


def _base(visit: Visit) -> Commit:
    """Return the commit that is to be built on, if this token may: whoever may not write may still open a pull request."""
    token = visit.signed_in()
    if not visit.world.accounts.writes(token, visit.repo):
        if not visit.request.says("create_pr"):
            raise HubError(403, PULL_INSTEAD if token.role == "write" else "Authorization error.")
        if token.role == "read":
            raise HubError(403, "Authorization error.")
    return visit.repo.at(visit.revision)


def _gone(lines: Iterable[dict[str, Any]], before: Commit) -> Iterable[str]:
    for line in lines:
        path = line["value"].get("path", "").rstrip("/")
        if line["key"] == "deletedFile":
            if path not in before.files:
                raise HubError(404, f"A file with the name {path!r} does not exist", "EntryNotFound")
            yield path
        elif line["key"] == "deletedFolder":
            yield from (one for one in before.files if one.startswith(f"{path}/"))


def _content(visit: Visit, line: dict[str, Any], before: Commit) -> File:
    value = line["value"]
    if line["key"] == "file":
        return visit.repo.file(value["path"], base64.b64decode(value["content"]), before)
    if line["key"] == "copyFile":
        return visit.repo.at(value.get("srcRevision") or visit.revision).files[value["srcPath"]]
    content = visit.world.content(value["oid"])
    if content is None:
        because = "Your push was rejected because the LFS pointers pointed to files that do not exist."
        raise HubError(400, f"{because} Offending file: {value['path']}")
    return File(content, large=True)


def _told(visit: Visit, made: Commit, pull: str = "") -> Reply:
    place = visit.world.page_of(visit.repo)
    told = {"success": True, "commitOid": made.oid, "commitUrl": f"{place}/commit/{quote(made.oid)}", "hookOutput": ""}
    return as_json(told | ({"pullRequestUrl": f"{place}/discussions/{pull}"} if pull else {}))
