"""A Hub for what is written: it answers as the real one would, keeps what it gets, and passes nothing on.

Repositories that are made here are read from here again, so that a script can load what it has just pushed.

Source: the requests of huggingface_hub 0.26 to 2.4, and the fields that it reads of the answers.
Covered: repositories, commits, large files, branches, tags, settings. Other writes (Jobs, Spaces, discussions, buckets) are
answered with nothing, and reported.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from ..events import EventWriter
from ..part_request import ANY, PartRequest
from ..sandbox.reach import READS, is_read
from . import pretended
from .faults import PushFault

LARGE_BYTES = 10 * 2**20
LARGE_NAMES = (
    ".7z .arrow .bin .bz2 .ckpt .ftz .gz .h5 .joblib .lfs .mlmodel .model .msgpack .npy .npz .onnx .ot .parquet .pb .pickle .pkl "
    ".pt .pth .rar .safetensors .tar .tflite .tgz .wasm .xz .zip .zst .gguf .mp4 .wav .mp3 .png .jpg .jpeg"
)
KINDS = {"models": "model", "datasets": "dataset", "spaces": "space"}
UPLOADS = "holdfast-dry-upload"
REFUSED = "X-Holdfast-Refused"
FOUND, UNAUTHORIZED, FORBIDDEN = 200, 401, 403
Ask = Callable[[str, str], "DryResponse"]


@dataclass
class DryRequest:
    """The request."""

    method: str
    url: str
    headers: dict[str, str]  # names in lower case
    read: Callable[[], bytes]

    @property
    def path(self) -> str:
        """Its path, still quoted."""
        return urlsplit(self.url).path

    @property
    def parts(self) -> list[str]:
        """The parts of its path."""
        return [unquote(part) for part in self.path.split("/") if part]

    @property
    def token(self) -> str:
        """Its bearer token."""
        return self.headers.get("authorization", "").partition(" ")[2]

    def json(self) -> Any:
        """Return its body."""
        return json.loads(self.read() or b"{}")


@dataclass
class DryResponse:
    """What is answered."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class DryRepository:
    """A repository that the script made, or wrote to."""

    kind: str
    name: str
    private: bool = False
    is_new: bool = False
    files: dict[str, Path] = field(default_factory=dict)
    branches: set[str] = field(default_factory=lambda: {"main"})
    sha: str = "0" * 40


class DryHub:
    """Answers requests.

    Args:
        endpoint: The Hub's address.
        folder: Where files that are pushed are kept.
        part_request: What is known of what may be written to.
        ask: Asks the real Hub for a path, with a token; a status of 0 if it is not to be asked.
        events: Receives the report.
    """

    def __init__(self, endpoint: str, folder: Path, part_request: PartRequest, ask: Ask, events: EventWriter) -> None:
        self._endpoint, self._folder, self._ask, self._events = endpoint, folder, ask, events
        self._writable, self._token = dict(part_request.writable), part_request.token
        self._known: dict[tuple[str, str], DryRepository] = {}
        self._users: dict[str, str] = {}
        self._fault = PushFault(part_request, events)

    def answer(self, request: DryRequest) -> DryResponse | None:
        """Return the response to a request; None: the real Hub answers."""
        if not request.url.startswith(self._endpoint):
            return None
        if request.method in READS:
            return self._read(request)
        if _is_telemetry(request.path):
            return DryResponse(200)
        if is_read(request.method, request.path):
            return self._paths_info(request)
        try:
            return self._write(request, request.parts)
        except RefusedError as refused:
            return refused.answer

    def _write(self, request: DryRequest, parts: list[str]) -> DryResponse:
        if refusal := self._fault.refusal(request.path):
            return DryResponse(*refusal)
        if parts[:1] == [UPLOADS]:
            return self._upload(request, parts[1])
        if not request.token:
            raise RefusedError(UNAUTHORIZED, "Invalid username or password.")
        if parts[:3] == ["api", "repos", "create"]:
            return self._create(request)
        if parts[-4:] == ["info", "lfs", "objects", "batch"]:
            return self._batch(request)
        return self._repository_response(request, parts) or self._anything(request, parts)

    def _repository_response(self, request: DryRequest, parts: list[str]) -> DryResponse | None:
        if parts[:2] in ([["api", kind] for kind in KINDS]) and len(parts) > 3:  # noqa: PLR2004 - a name, and what is done
            repo, rest = self._path_target(parts[1:], request)
            if rest[:1] == ["preupload"]:
                return self._preupload(request)
            if rest[:1] == ["commit"]:
                return self._commit(request, repo)
            if rest[:1] == ["branch"] and request.method == "POST":
                repo.branches.add("/".join(rest[1:]))
        return None

    def _anything(self, request: DryRequest, parts: list[str]) -> DryResponse:
        named = "/".join(parts[2:4]) if parts[1:2] != ["repos"] else str(request.json().get("name") or "")
        self._events.fact("push", action=f"{request.method} {request.path}", repository=named)
        if not re.search(r"/(branch|tag|settings|super-squash)/?|/repos/(delete|move)$", request.path):
            self._events.not_rehearsed(f"{request.method} {request.path}", "a rehearsal sends nothing to the Hub")
        return DryResponse(200, b"{}", {"Content-Type": "application/json"})

    def _create(self, request: DryRequest) -> DryResponse:
        new_repo = request.json()
        kind = new_repo.get("type") or "model"
        name = new_repo["name"]
        if "/" not in name:
            name = f"{new_repo.get('organization') or self._user(request)}/{name}"
        self._allow(name, request)
        body = json.dumps({"url": self._page(kind, name), "name": name, "id": name}).encode()
        private = bool(new_repo.get("private")) or new_repo.get("visibility") == "private"
        if self._find(kind, name, request) is not None:
            headers = {"X-Error-Message": f"You already created this {kind} repo"}
            return DryResponse(409, body, headers | {"Content-Type": "application/json"})
        self._known[kind, name] = DryRepository(kind, name, private=private, is_new=True)
        self._events.fact("push", action="create", repository=name, kind=kind, private=private)
        return DryResponse(200, body, {"Content-Type": "application/json"})

    def _user(self, request: DryRequest) -> str:
        """Return the name that a token belongs to."""
        if request.token == pretended.TOKEN:
            return "you"
        if request.token not in self._users:
            seen = self._ask("/api/whoami-v2", request.token)
            if seen.status in (UNAUTHORIZED, FORBIDDEN):
                raise RefusedError(seen.status, "Invalid credentials in Authorization header")
            self._users[request.token] = str(json.loads(seen.body)["name"]) if seen.status == FOUND else "you"
        return self._users[request.token]

    def _allow(self, name: str, request: DryRequest) -> None:
        """Raise RefusedError if a repository may not be written to."""
        known = self._known_of(name, request.token)
        if known.startswith("no"):
            raise RefusedError(FORBIDDEN, known.partition(":")[2].strip() or "Authorization error.")
        if known != "yes":
            self._events.not_rehearsed(
                f"whether {name} may be written to", "the Hub was not asked what the token may do"
            )

    def _known_of(self, name: str, token: str) -> str:
        """Return the known reason why a token may not write to a repository; empty if none is known."""
        if self._token and self._token != hashlib.sha256(token.encode()).hexdigest():
            return ""
        owner = name.partition("/")[0]
        permissions = (self._writable.get(each) for each in (name, owner, ANY))
        return next(filter(None, permissions), "").replace(f"`{ANY}`", f"`{owner}`")

    def _is_refused(self, kind: str, name: str, token: str) -> bool:
        """Whether the real Hub says that a repository of its own may not be written to."""
        return self._ask(f"/api/{kind}s/{name}/auth-check/write", token).status == FORBIDDEN

    def _find(self, kind: str, name: str, request: DryRequest) -> DryRepository | None:
        """Return a repository, of here or of the real Hub."""
        if (kind, name) in self._known:
            return self._known[kind, name]
        seen = self._ask(f"/api/{kind}s/{name}", request.token)
        if seen.status == UNAUTHORIZED and request.token != pretended.TOKEN:  # what a token may not see is not found
            raise RefusedError(UNAUTHORIZED, "Invalid credentials in Authorization header")
        if seen.status == FOUND:
            if self._is_refused(kind, name, request.token):
                raise RefusedError(FORBIDDEN, f"the Hub does not let this token write to `{name}`")
            self._known[kind, name] = DryRepository(kind, name, private=bool(json.loads(seen.body).get("private")))
        if seen.status == 0:
            self._events.not_rehearsed(f"whether {name} is there", "the Hub did not answer, or was not asked")
        return self._known.get((kind, name))

    def _path_target(self, parts: list[str], request: DryRequest) -> tuple[DryRepository, list[str]]:
        """Return the repository that is written to, and what stands behind its name. Raises RefusedError."""
        kind, name = KINDS[parts[0]], "/".join(parts[1:3])
        self._allow(name, request)
        repo = self._find(kind, name, request)
        if repo is None and self._ask("", "").status != 0:
            raise RefusedError(404, "Repository not found", "RepoNotFound")
        return repo or self._known.setdefault((kind, name), DryRepository(kind, name)), parts[3:]

    def _preupload(self, request: DryRequest) -> DryResponse:
        uploads = [
            {
                "path": each["path"],
                "uploadMode": "lfs" if _is_large(each["path"], each["size"]) else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for each in request.json()["files"]
        ]
        return _as_json({"files": uploads, "commitOid": "0" * 40})

    def _batch(self, request: DryRequest) -> DryResponse:
        objects = [
            {
                "oid": each["oid"],
                "size": each["size"],
                "authenticated": True,
                "actions": {"upload": {"href": f"{self._endpoint}/{UPLOADS}/{each['oid']}"}},
            }
            for each in request.json()["objects"]
        ]
        return _as_json({"transfer": "basic", "objects": objects})

    def _upload(self, request: DryRequest, oid: str) -> DryResponse:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / re.sub(r"\W", "", oid)).write_bytes(request.read())
        return DryResponse(200)

    def _commit(self, request: DryRequest, repo: DryRepository) -> DryResponse:
        body = request.read()
        added: dict[str, int] = {}
        for operation in (json.loads(line) for line in body.splitlines() if line.strip()):
            added |= self._apply(repo, operation["key"], operation["value"])
        repo.sha = hashlib.sha1(repo.sha.encode() + body).hexdigest()  # noqa: S324 - as git names commits
        total = sum(added.values())
        commit = {"kind": repo.kind, "private": repo.private, "files": sorted(added), "bytes": total}
        self._events.fact("push", action="commit", repository=repo.name, **commit)
        page = self._page(repo.kind, repo.name)
        answer = {"success": True, "commitOid": repo.sha, "commitUrl": f"{page}/commit/{repo.sha}", "hookOutput": ""}
        if parse_qs(urlsplit(request.url).query).get("create_pr") == ["1"]:
            answer["pullRequestUrl"] = f"{page}/discussions/1"
        return _as_json(answer)

    def _apply(self, repo: DryRepository, key: str, value: dict[str, Any]) -> dict[str, int]:
        """Do one operation of a commit; return the bytes of the file that it adds, by its path."""
        if key in ("deletedFile", "deletedFolder"):
            _delete(repo, value["path"].rstrip("/"))
        if key not in ("file", "lfsFile"):
            return {}
        kept = self._keep(base64.b64decode(value["content"])) if key == "file" else self._folder / value["oid"]
        repo.files[value["path"]] = kept
        return {value["path"]: value.get("size") or (kept.stat().st_size if kept.exists() else 0)}

    def _keep(self, content: bytes) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / hashlib.sha256(content).hexdigest()
        path.write_bytes(content)
        return path

    def _page(self, kind: str, name: str) -> str:
        return f"{self._endpoint}/{'' if kind == 'model' else kind + 's/'}{quote(name)}"

    def _read(self, request: DryRequest) -> DryResponse | None:
        """Return the content of a repository that was made here; of others, the files that were pushed."""
        parts = request.parts
        is_api = parts[:1] == ["api"]
        repo, rest = self._known_target(parts[1:] if is_api else parts, is_api=is_api)
        if repo is None:
            return None
        if is_api:
            return self._read_api(repo, rest) if repo.is_new else None
        return self._read_file(repo, "/".join(rest[2:]), request) if rest[:1] in (["resolve"], ["raw"]) else None

    def _known_target(self, parts: list[str], *, is_api: bool) -> tuple[DryRepository | None, list[str]]:
        """Return the repository of a path, if it is known, and what stands behind its name; pages of models name no kind."""
        kind = KINDS.get(parts[0], "") if parts else ""
        if not kind and not is_api:
            kind, parts = "model", ["models", *parts]
        return self._known.get((kind, "/".join(parts[1:3]))), parts[3:]

    def _read_file(self, repo: DryRepository, path: str, request: DryRequest) -> DryResponse | None:
        if path in repo.files:
            return _send(repo, repo.files[path], request)
        return _missing(repo, f"{path} is not in {repo.name}", "EntryNotFound") if repo.is_new else None

    def _read_api(self, repo: DryRepository, rest: list[str]) -> DryResponse:
        if rest[:1] == ["tree"]:
            return _tree(repo, "/".join(rest[2:]))
        if rest[:1] == ["refs"]:
            heads = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": repo.sha} for name in repo.branches]
            return _as_json({"branches": heads, "tags": [], "converts": []})
        if rest[:1] == ["commits"]:
            return _as_json([])
        siblings = [{"rfilename": path, "size": kept.stat().st_size} for path, kept in repo.files.items()]
        author = repo.name.partition("/")[0]
        info = {
            "_id": repo.sha,
            "id": repo.name,
            "modelId": repo.name,
            "author": author,
            "sha": repo.sha,
            "private": repo.private,
        }
        info |= {"siblings": siblings, "tags": [], "downloads": 0, "likes": 0, "gated": False, "disabled": False}
        return _as_json(info | {"lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z"})

    def _paths_info(self, request: DryRequest) -> DryResponse | None:
        """Return what was asked of paths in a repository that was made here; None of any other request that reads."""
        parts = request.parts
        if "paths-info" not in parts:
            return None
        repo = self._known.get((KINDS.get(parts[1], ""), "/".join(parts[2:4])))
        if repo is None or not repo.is_new:
            return None
        body = request.read()
        is_json = "json" in request.headers.get("content-type", "")
        paths = json.loads(body)["paths"] if is_json else parse_qs(body.decode()).get("paths", [])
        return _as_json([entry for entry in _entries(repo, _paths(repo)) if entry["path"] in paths])


class RefusedError(Exception):
    """A request that the Hub refuses."""

    def __init__(self, status: int, because: str, code: str = "") -> None:
        super().__init__(because)
        headers = {"X-Error-Message": because, "Content-Type": "application/json", REFUSED: "1"}
        self.answer = DryResponse(
            status, json.dumps({"error": because}).encode(), headers | ({"X-Error-Code": code} if code else {})
        )


def _is_telemetry(path: str) -> bool:
    return path.startswith("/api/telemetry") or "telemetry" in path.rstrip("/").split("/")


def _is_large(path: str, size: int) -> bool:
    return size > LARGE_BYTES or path.endswith(tuple(LARGE_NAMES.split()))


def _as_json(value: Any) -> DryResponse:
    return DryResponse(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _tree(repo: DryRepository, folder: str) -> DryResponse:
    """Return the paths of a repository, or those in a folder of it."""
    below = [path for path in _paths(repo) if not folder or path.startswith(f"{folder}/")]
    if folder and not below:
        return _missing(repo, folder, "EntryNotFound")
    return _as_json(list(_entries(repo, below)))


def _delete(repo: DryRepository, below: str) -> None:
    """Delete a file, or the files of a folder."""
    for path in [each for each in repo.files if each == below or each.startswith(f"{below}/")]:
        del repo.files[path]


def _missing(repo: DryRepository, because: str, code: str) -> DryResponse:
    headers = {"X-Error-Message": because, "X-Error-Code": code, "X-Repo-Commit": repo.sha}
    return DryResponse(404, b"", headers)


def _send(repo: DryRepository, kept: Path, request: DryRequest) -> DryResponse:
    content = kept.read_bytes()
    headers = {"X-Repo-Commit": repo.sha, "ETag": f'"{kept.name}"', "Accept-Ranges": "bytes"}
    ranged = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
    status = 200
    if ranged:
        first, last = int(ranged[1]), min(int(ranged[2] or len(content) - 1), len(content) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        content, status = content[first : last + 1], 206
    headers["Content-Length"] = str(len(content))
    return DryResponse(status, b"" if request.method == "HEAD" else content, headers)


def _paths(repo: DryRepository) -> list[str]:
    return [
        *sorted({path.rsplit("/", n)[0] for path in repo.files for n in range(1, path.count("/") + 1)}),
        *repo.files,
    ]


def _entries(repo: DryRepository, paths: list[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        kept = repo.files.get(path)
        if kept is None:
            yield {"type": "directory", "oid": repo.sha, "size": 0, "path": path}
        else:
            yield {"type": "file", "oid": kept.name[:40], "size": kept.stat().st_size, "path": path}
