"""What is asked of buckets: creation, listing, batches, files.

Source: the bucket methods of `huggingface_hub/hf_api.py` 2.4.0, and what their comments say of the server: a prefix is compared as text, so that `logs`
also lists `logs.json` (`_copy_to_bucket`, `HfFileSystem._list_bucket_tree_with_folders`); a recursive listing has no folders; operations that failed are
told in the body of a 200, or of a 422 if all did (`_batch_bucket_files`).
"""

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from tests.helpers.hub.accounts import Token
from tests.helpers.hub.buckets import xet
from tests.helpers.hub.buckets.store import FULL, Bucket
from tests.helpers.hub.exchange import HubError, Reply, as_json, no_page, redirect, unseen
from tests.helpers.hub.paging import page_of
from tests.helpers.hub.repositories import iso
from tests.helpers.hub.world import Visit


def answer(visit: Visit) -> Reply:
    """Answer /api/buckets/NAMESPACE[/NAME[/...]]."""
    method = visit.request.method.replace("HEAD", "GET")
    if len(visit.rest) == 1 and method == "GET":
        return _list(visit)
    if len(visit.rest) == 2 and method == "POST":
        return _create(visit)
    found = OF_BUCKET.get((method, visit.rest[2] if visit.rest[2:] else ""))
    if found is None:
        raise no_page()
    return found(visit, find(visit))


def resolve(visit: Visit) -> Reply:
    """GET /buckets/NAMESPACE/NAME/resolve/PATH: where the content is, and what it is."""
    bucket, path = find(visit), "/".join(visit.rest[3:])
    file = bucket.files.get(path)
    if file is None:
        raise HubError(404, "Entry not found", "EntryNotFound")
    place = f"{visit.world.outside}/{visit.world.buckets.store}/file/{file.xet_hash}"
    token = f"{visit.world.address}/api/buckets/{bucket.name}/xet-read-token"
    headers = {
        "X-Xet-Hash": file.xet_hash,
        "X-Linked-Size": str(len(file.content)),
        "X-Linked-ETag": f'"{file.xet_hash}"',
        "ETag": f'"{file.xet_hash}"',
        "Link": f'<{token}>; rel="xet-auth", <{quote(place, safe=":/")}>; rel="xet-reconstruction-info"',
    }
    return redirect(place, 302, headers)


def move(visit: Visit) -> Reply:
    """POST /api/repos/move of a bucket."""
    asked = visit.request.json()
    bucket = find(visit, asked["fromRepo"])
    _check_writes(visit, bucket.namespace)
    _check_writes(visit, asked["toRepo"].partition("/")[0])
    visit.world.buckets.all[asked["toRepo"]] = visit.world.buckets.all.pop(bucket.name)
    bucket.name = asked["toRepo"]
    return as_json({})


def find(visit: Visit, name: str = "") -> Bucket:
    """Return the bucket that is asked for. Raises HubError if there is none as far as this token can tell."""
    bucket = visit.world.buckets.all.get(name or "/".join(visit.rest[:2]))
    if bucket is None or not _sees(visit, bucket):
        raise unseen(known=visit.token is not None)
    return bucket


def _sees(visit: Visit, bucket: Bucket) -> bool:
    return not bucket.private or visit.world.accounts.belongs(visit.token, bucket.namespace)


def _check_writes(visit: Visit, namespace: str) -> Token:
    token = visit.signed_in()
    if not visit.world.accounts.writes_in(token, namespace):
        raise HubError(403, f"You don't have the rights to write to a bucket under the namespace {namespace}")
    return token


def _list(visit: Visit) -> Reply:
    namespace = visit.rest[0]
    if namespace == "me":
        namespace = visit.signed_in().user.name
    named = [one for one in visit.world.buckets.all.values() if one.namespace == namespace and _sees(visit, one)]
    return page_of(visit, [one.told() for one in named if visit.request.get("search") in one.name])


def _create(visit: Visit) -> Reply:
    namespace, name = visit.rest
    token = visit.signed_in()
    full = f"{token.user.name if namespace == 'me' else namespace}/{name}"
    _check_writes(visit, full.partition("/")[0])
    told = {"url": f"{visit.world.address}/buckets/{full}", "id": full}
    if full in visit.world.buckets.all:
        raise HubError(409, "You already created this bucket", more=told)
    private = visit.request.json().get("visibility") == "private"
    visit.world.buckets.add(full, private=private, made_s=visit.now_s)
    return as_json(told)


def _info(visit: Visit, bucket: Bucket) -> Reply:  # noqa: ARG001 - all routes of a bucket have these parameters
    return as_json(bucket.told())


def _delete(visit: Visit, bucket: Bucket) -> Reply:
    _check_writes(visit, bucket.namespace)
    del visit.world.buckets.all[bucket.name]
    return Reply(status=204)


def _settings(visit: Visit, bucket: Bucket) -> Reply:
    _check_writes(visit, bucket.namespace)
    bucket.private = visit.request.json()["private"]
    return as_json({})


def _paths_info(visit: Visit, bucket: Bucket) -> Reply:
    paths = visit.request.json()["paths"]
    return as_json([bucket.files[path].told(path) for path in paths if path in bucket.files])


def _read_token(visit: Visit, bucket: Bucket) -> Reply:  # noqa: ARG001 - all routes of a bucket have these parameters
    return xet.token(visit)


def _write_token(visit: Visit, bucket: Bucket) -> Reply:
    _check_writes(visit, bucket.namespace)
    return xet.token(visit)


def _tree(visit: Visit, bucket: Bucket) -> Reply:
    prefix = "/".join(visit.rest[3:])
    named = {path: file for path, file in sorted(bucket.files.items()) if path.startswith(prefix)}
    if visit.request.says("recursive"):
        return page_of(visit, [file.told(path) for path, file in named.items()])
    shown: dict[str, dict[str, Any]] = {}
    for path, file in named.items():
        within = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
        skip = len(within) if path.startswith(within) else len(prefix)
        head, slash, _ = path[skip:].partition("/")
        folder = path[:skip] + head
        told = {"type": "directory", "path": folder, "uploadedAt": iso(file.uploaded_s)}
        shown.setdefault(folder, told if slash else file.told(path))
    return page_of(visit, list(shown.values()))


def _batch(visit: Visit, bucket: Bucket) -> Reply:
    _check_writes(visit, bucket.namespace)
    lines = [json.loads(line) for line in visit.request.body.splitlines() if line.strip()]
    failed = list(_applied(visit, bucket, lines))
    succeeded = len(lines) - len(failed)
    told = {"success": not failed, "processed": len(lines), "succeeded": succeeded, "failed": failed}
    return as_json(told, 200 if succeeded or not lines else 422)


def _applied(visit: Visit, bucket: Bucket, lines: Iterable[dict[str, Any]]) -> Iterable[dict[str, str]]:
    """Do what a batch says, and give what could not be done."""
    for line in lines:
        path = line["path"]
        if line["type"] == "deleteFile":
            if bucket.files.pop(path, None) is None:
                yield {"path": path, "error": "File not found"}
            continue
        content = visit.world.buckets.content(line["xetHash"])
        if content is None and line["xetHash"] == "0" * 64:
            content = b""
        if content is None:
            yield {"path": path, "error": f"Unknown xet hash {line['xetHash']}"}
        elif not bucket.put(path, content, mtime_s=line["mtime"] / 1000, now_s=visit.now_s, xet_hash=line["xetHash"]):
            yield {"path": path, "error": FULL}


OF_BUCKET: dict[tuple[str, str], Callable[[Visit, Bucket], Reply]] = {
    ("GET", ""): _info,
    ("DELETE", ""): _delete,
    ("PUT", "settings"): _settings,
    ("GET", "tree"): _tree,
    ("POST", "paths-info"): _paths_info,
    ("POST", "batch"): _batch,
    ("GET", "xet-read-token"): _read_token,
    ("GET", "xet-write-token"): _write_token,
}
