"""What is read of a repository: info, tree, paths, references, history, files.

Source: `HfApi.model_info`, `list_repo_tree`, `get_paths_info`, `list_repo_refs`, `list_repo_commits`, `hf_hub_download` of huggingface_hub 2.4.0 and
the addresses that logs of its users show: `resolve` leads small files to `/api/resolve-cache/...` (307, relative) and large ones to another host (302),
with `X-Repo-Commit`, `X-Linked-Etag` and `X-Linked-Size` on the redirection; info and tree of a gated repository are for everybody, its files and its history are not. A model that was taken down still has an info (`disabled`),
a dataset has not (docstring of `DisabledRepoError`).
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from tests.helpers.hub import metadata
from tests.helpers.hub.exchange import HubError, Reply, as_json, redirect
from tests.helpers.hub.paging import page_of
from tests.helpers.hub.repositories import Commit, File, iso
from tests.helpers.hub.sending import send
from tests.helpers.hub.world import PREFIXES, Visit

EXPANDED_PAGE = 50


def info(visit: Visit) -> Reply:
    """GET /api/KINDs/ID[/revision/REVISION]: what there is to know.

    `blobs` adds sizes and hashes to the siblings, `securityStatus` what the scan found, `expand` asks for some fields only.
    """
    if visit.repo.disabled and visit.kind == "dataset":
        visit.check_reads()
    commit = visit.repo.at(visit.revision)
    told = metadata.describe(visit.repo, commit)
    wanted = visit.request.all("expand")
    if wanted:
        return as_json(metadata.head(visit.repo) | {key: told[key] for key in wanted if key in told})
    if visit.request.says("blobs"):
        told["siblings"] = [metadata.sibling(path, file) for path, file in commit.files.items()]
    if visit.request.says("securityStatus"):
        told["securityRepoStatus"] = _scan(visit)
    return as_json(metadata.head(visit.repo) | told)


def _scan(visit: Visit) -> dict[str, Any]:
    scanned = visit.repo.scanned
    found = [{"path": path, "level": level} for path, level in (scanned or {}).items()]
    return {"scansDone": scanned is not None, "filesWithIssues": found}


def tree(visit: Visit) -> Reply:
    """GET .../tree/REVISION[/PATH]: files and folders, of one level or all."""
    commit = visit.repo.at(visit.revision)
    entries = [entry for entry in _entries(commit) if _below(entry["path"], visit.below)]
    if visit.below and not entries:
        because = f"{visit.below} does not exist on {visit.revision!r}".replace("'", '"')
        raise HubError(404, because, "EntryNotFound", headers={"X-Repo-Commit": commit.oid})
    if not visit.request.says("recursive"):
        depth = visit.below.count("/") + 1 if visit.below else 0
        entries = [entry for entry in entries if entry["path"].count("/") == depth]
    expanded = visit.request.says("expand")
    if expanded:
        entries = [entry | _expanded(visit, commit, entry) for entry in entries]
    return page_of(visit, entries, EXPANDED_PAGE if expanded else None)


def paths_info(visit: Visit) -> Reply:
    """POST .../paths-info/REVISION: some files and folders; those that are not there are left out."""
    commit = visit.repo.at(visit.revision)
    asked = visit.request
    fields = asked.json() if "json" in asked.headers.get("content-type", "") else _fields(asked.form())
    wanted = {path.strip("/") for path in fields["paths"]}
    entries = [entry for entry in _entries(commit) if entry["path"] in wanted]
    if str(fields.get("expand", "")).lower() in ("true", "1"):
        entries = [entry | _expanded(visit, commit, entry) for entry in entries]
    return as_json(entries)


def _fields(form: list[tuple[str, str]]) -> dict[str, Any]:
    return dict(form) | {"paths": [value for key, value in form if key == "paths"]}


def _entries(commit: Commit) -> Iterator[dict[str, Any]]:
    folders = {path.rsplit("/", n)[0] for path in commit.files for n in range(1, path.count("/") + 1)}
    for path in sorted(folders):
        yield {"type": "directory", "oid": commit.oid, "size": 0, "path": path}
    for path, file in commit.files.items():
        yield _entry(path, file)


def _entry(path: str, file: File) -> dict[str, Any]:
    told = {"type": "file", "oid": file.oid, "size": len(file.content), "path": path}
    if file.large:
        told["lfs"] = {"oid": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
    return told


def _below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _expanded(visit: Visit, commit: Commit, entry: dict[str, Any]) -> dict[str, Any]:
    path, file = entry["path"], commit.files.get(entry["path"])
    last = next((one for one in commit.history() if _touches(one, path)), commit)
    told: dict[str, Any] = {"lastCommit": {"id": last.oid, "title": last.message, "date": last.date}}
    if file is not None:
        status = (visit.repo.scanned or {}).get(path, "safe")
        told["securityFileStatus"] = {"status": status, "avScan": None, "pickleImportScan": None}
    return told


def _touches(commit: Commit, path: str) -> bool:
    return any(changed == path or changed.startswith(f"{path}/") for changed in commit.changed)


def refs(visit: Visit) -> Reply:
    """GET .../refs: branches, tags, conversions and, if asked for, pull requests."""
    repo = visit.repo
    pulls = [key for key in repo.hidden if key.startswith("refs/pr/")]
    told = {
        "branches": [_ref(name, f"refs/heads/{name}", commit) for name, commit in repo.branches.items()],
        "tags": [_ref(name, f"refs/tags/{name}", commit) for name, commit in repo.labels.items()],
        "converts": [
            _ref(ref.rpartition("/")[2], ref, commit)
            for ref, commit in repo.hidden.items()
            if ref.startswith("refs/convert/")
        ],
    }
    if visit.request.says("include_prs"):
        told["pullRequests"] = [_ref(ref.removeprefix("refs/"), ref, repo.hidden[ref]) for ref in pulls]
    return as_json(told)


def _ref(name: str, ref: str, commit: Commit) -> dict[str, str]:
    return {"name": name, "ref": ref, "targetCommit": commit.oid}


def commits(visit: Visit) -> Reply:
    """GET .../commits/REVISION: the history, the newest first; of a gated repository not for everybody."""
    visit.check_reads()
    told = [
        {
            "id": commit.oid,
            "title": commit.message,
            "message": commit.description,
            "authors": [{"user": commit.author}],
            "date": iso(commit.made_s),
        }
        for commit in visit.repo.at(visit.revision).history()
    ]
    return page_of(visit, told, EXPANDED_PAGE)


def safetensors_metadata(visit: Visit) -> Reply:
    """GET .../safetensors-metadata/INDEX: the headers of all files of a sharded model at once."""
    commit = visit.repo.head
    visit.check_reads()
    index = "/".join(visit.rest)
    if index not in commit.files:
        raise HubError(404, "Entry not found", "EntryNotFound")
    told = {key: value for key, value in metadata.read_json(commit, index).items() if key != "weight_map"}
    headers = {path: metadata.safetensors_header(commit.files[path]) for path in metadata.shards(commit)}
    return as_json({"index": told, "headers": headers})


def resolve(visit: Visit) -> Reply:
    """GET /ID/resolve/REVISION/PATH: where a file's bytes are."""
    commit, file = _open(visit)
    told = {
        "X-Repo-Commit": commit.oid,
        "X-Linked-Etag": f'"{file.etag}"',
        "X-Linked-Size": str(len(file.content)),
        "Accept-Ranges": "bytes",
    }
    if file.large:
        return redirect(f"{visit.world.outside}/large/{file.sha256}", 302, told)
    path = f"/api/resolve-cache/{visit.kind}s/{visit.repo.name}/{commit.oid}/{quote(visit.below)}"
    asked = quote(f"/{PREFIXES[visit.kind]}{visit.repo.name}/resolve/{visit.revision}/{visit.below}", safe="")
    return redirect(f"{path}?{asked}=&etag={quote(told['X-Linked-Etag'])}", 307, told)


def cached(visit: Visit) -> Reply:
    """GET /api/resolve-cache/KINDs/ID/COMMIT/PATH: the bytes of a small file."""
    commit, file = _open(visit)
    told = {"X-Repo-Commit": commit.oid, "ETag": f'"{file.etag}"', "Content-Type": "text/plain; charset=utf-8"}
    return send(visit.request, file.content, told)


def raw(visit: Visit) -> Reply:
    """GET /ID/raw/REVISION/PATH: what git has: of a large file the pointer."""
    commit, file = _open(visit)
    told = {"X-Repo-Commit": commit.oid, "ETag": f'"{file.oid}"', "Content-Type": "text/plain; charset=utf-8"}
    return send(visit.request, file.pointer if file.large else file.content, told)


def page(visit: Visit) -> Reply:
    """GET /ID and /ID/blob/REVISION/PATH: a page for people, in HTML."""
    if visit.rest:
        _open(visit)
    body = f"<!doctype html><title>{visit.repo.name}</title>".encode()
    return Reply(body=body, headers={"Content-Type": "text/html; charset=utf-8"})


def _open(visit: Visit) -> tuple[Commit, File]:
    visit.check_reads()
    commit = visit.repo.at(visit.revision)
    if visit.below not in commit.files:
        raise HubError(404, "Entry not found", "EntryNotFound", headers={"X-Repo-Commit": commit.oid})
    return commit, commit.files[visit.below]
