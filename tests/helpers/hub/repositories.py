r"""Repositories with their history, as git would tell it: commits that hold whole sets of files, branches and tags that point to them.

Source: git's own object ids (`git hash-object`): a blob's is the SHA-1 of `blob SIZE\0` and its bytes. Of a large file git has a pointer of three
lines (the git-lfs specification), and the Hub tells the SHA-256 and the size of what it points to.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cached_property
from hashlib import sha1, sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tests.helpers.hub.exchange import HubError

Kind = Literal["model", "dataset", "space"]
Content = bytes | str
Files = Mapping[str, Content] | Path
NOTHING: Files = MappingProxyType({})
MAIN = "main"
LARGE = 10 * 1024 * 1024  # bytes from which a file is a large one, whatever its name
LARGE_NAMES = (
    "*.7z",
    "*.arrow",
    "*.bin",
    "*.bz2",
    "*.ckpt",
    "*.ftz",
    "*.gz",
    "*.h5",
    "*.joblib",
    "*.lfs.*",
    "*.mlmodel",
    "*.model",
    "*.msgpack",
    "*.npy",
    "*.npz",
    "*.onnx",
    "*.ot",
    "*.parquet",
    "*.pb",
    "*.pickle",
    "*.pkl",
    "*.pt",
    "*.pth",
    "*.rar",
    "*.safetensors",
    "*.tar.*",
    "*.tar",
    "*.tflite",
    "*.tgz",
    "*.wasm",
    "*.xz",
    "*.zip",
    "*.zst",
    "*tfevents*",
)
ATTRIBUTES = "".join(f"{name} filter=lfs diff=lfs merge=lfs -text\n" for name in LARGE_NAMES)


@dataclass(frozen=True)
class File:
    """One file's content, and whether git has it or only a pointer to it."""

    content: bytes
    large: bool

    @cached_property
    def sha256(self) -> str:
        return sha256(self.content).hexdigest()

    @cached_property
    def oid(self) -> str:
        """What git calls it: for a large file that is the pointer."""
        return blob_id(self.pointer if self.large else self.content)

    @property
    def pointer(self) -> bytes:
        return (
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()
        )

    @property
    def etag(self) -> str:
        """What the Hub calls this version of the file."""
        return self.sha256 if self.large else self.oid


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        repo: The repository's name at the time.
        kind: What it is.
        oid: 40 hexadecimal digits.
        parent: The one before, None for the first.
        files: All files, by path.
        message: Its first line.
        description: The rest.
        author: Who made it.
        made_s: Unix time.
        changed: Paths that it added or changed, without those that went.
    """

    repo: str
    kind: Kind
    oid: str
    parent: "Commit | None"
    files: Mapping[str, File]
    message: str
    description: str = ""
    author: str = "system"
    made_s: float = 0.0
    changed: frozenset[str] = frozenset()

    @property
    def date(self) -> str:
        return iso(self.made_s)

    def history(self) -> list["Commit"]:
        """Return it and those before it, the newest first."""
        commits, at = [self], self.parent
        while at is not None:
            commits.append(at)
            at = at.parent
        return commits


@dataclass(slots=True, kw_only=True)
class Repository:
    """A model, a dataset or a Space. Change its settings as you like; its files change by commits.

    Attributes:
        name: `namespace/name`.
        kind: What it is.
        made_s: Unix time of its creation; commits that a test seeds are a minute apart from there.
        private: Whether only its owners see it.
        gated: Whether access to its files has to be asked for: `auto` or `manual`.
        access: Users to whom access was given.
        asked: Users whose request waits.
        disabled: Whether the Hub took it down.
        downloads, likes: What search sorts by.
        tags: Beside those that the Hub works out of the files.
        scanned: What the security scan found, by path: `unsafe`, `suspicious`; None where it has not run.
        viewer: Whether the dataset viewer has worked on it.
        branches: Commits by branch.
        labels: Commits by (git) tag.
        hidden: Other references, by full name: `refs/pr/1`, `refs/convert/parquet`.
        created_by: Who made it, which is what counts for a contributor of an organization.
        sdk: Of a Space.
    """

    name: str
    kind: Kind
    made_s: float
    private: bool = False
    gated: Literal["", "auto", "manual"] = ""
    access: set[str] = field(default_factory=set[str])
    asked: set[str] = field(default_factory=set[str])
    disabled: bool = False
    downloads: int = 0
    likes: int = 0
    tags: tuple[str, ...] = ()
    scanned: dict[str, str] | None = field(default_factory=dict[str, str])
    viewer: bool = True
    branches: dict[str, Commit] = field(default_factory=dict[str, Commit])
    labels: dict[str, Commit] = field(default_factory=dict[str, Commit])
    hidden: dict[str, Commit] = field(default_factory=dict[str, Commit])
    created_by: str = "system"
    sdk: str = "gradio"

    @property
    def namespace(self) -> str:
        return self.name.partition("/")[0]

    @property
    def head(self) -> Commit:
        """The last commit of the main branch."""
        return self.branches[MAIN]

    @property
    def files(self) -> dict[str, bytes]:
        """Content of each file of the main branch."""
        return {path: file.content for path, file in self.head.files.items()}

    def commit(
        self, files: Files = NOTHING, *, gone: tuple[str, ...] = (), message: str = "Change", branch: str = MAIN
    ) -> Commit:
        """Commit as its owner would, for a test to begin with.

        Args:
            files: Content by path, or a folder of this machine; those that are there already are kept.
            gone: Paths that go.
            message: Its first line.
            branch: Which is made, from the main one, if it is not there.
        """
        before = self.branches.get(branch) or self.branches.get(MAIN)
        made = {path: self.file(path, content, before) for path, content in read_files(files).items()}
        at_s = before.made_s + 60 if before else self.made_s
        return self.extend(before, made, gone, Signed(message, author=self.created_by, made_s=at_s), branch)

    def file(self, path: str, content: bytes, at: Commit | None) -> File:
        """Return a file as it would be held at a commit."""
        return File(content, is_large(path, len(content), at))

    def extend(
        self,
        before: Commit | None,
        made: Mapping[str, File],
        gone: tuple[str, ...],
        signed: "Signed",
        branch: str | None,
    ) -> Commit:
        """Return a new commit on top of another, which a branch then points to."""
        kept = {path: file for path, file in before.files.items() if path not in gone} if before else {}
        files = dict(sorted((kept | dict(made)).items()))
        told = [before.oid if before else "", signed.message, signed.made_s, [(p, f.oid) for p, f in files.items()]]
        oid = sha1(json.dumps([self.kind, self.name, *told]).encode()).hexdigest()  # noqa: S324 - git's ids
        commit = Commit(
            repo=self.name,
            kind=self.kind,
            oid=oid,
            parent=before,
            files=files,
            message=signed.message,
            description=signed.description,
            author=signed.author,
            made_s=signed.made_s,
            changed=frozenset(made),
        )
        if branch is not None:
            self.branches[branch] = commit
        return commit

    def branch(self, name: str, at: str = MAIN) -> None:
        """Make a branch."""
        self.branches[name] = self.at(at)

    def tag(self, name: str, at: str = MAIN) -> None:
        """Make a tag."""
        self.labels[name] = self.at(at)

    def at(self, revision: str) -> Commit:
        """Return the commit of a branch, a tag, a reference or a commit id, whole or its first seven digits or more.

        Raises:
            HubError: There is none.
        """
        named = self.hidden | self.labels | self.branches | {f"refs/heads/{k}": v for k, v in self.branches.items()}
        if revision in named:
            return named[revision]
        for tip in named.values():
            for commit in tip.history():
                if len(revision) >= 7 and commit.oid.startswith(revision):
                    return commit
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")


@dataclass(frozen=True, slots=True)
class Signed:
    """What is said of a commit beside its files."""

    message: str
    description: str = ""
    author: str = "system"
    made_s: float = 0.0


def is_large(path: str, size: int, at: Commit | None) -> bool:
    """True if a file is kept outside git: by the patterns of `.gitattributes`, or by its size. An empty one never is."""
    listed = at.files.get(".gitattributes") if at else None
    lines = listed.content.decode().splitlines() if listed else ATTRIBUTES.splitlines()
    patterns = [line.split()[0] for line in lines if "filter=lfs" in line]
    named = any(fnmatch(path.rpartition("/")[2], pattern) or fnmatch(path, pattern) for pattern in patterns)
    return size > 0 and (named or size >= LARGE)


def read_files(files: Files) -> dict[str, bytes]:
    """Return content by path, of a mapping or of a folder of this machine."""
    if isinstance(files, Path):
        return {path.relative_to(files).as_posix(): path.read_bytes() for path in files.rglob("*") if path.is_file()}
    return {path: content.encode() if isinstance(content, str) else content for path, content in files.items()}


def blob_id(content: bytes) -> str:
    """Return git's id of a blob."""
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324 - git's ids


def iso(at_s: float) -> str:
    """Return a Unix time as the Hub writes it: `2026-01-01T00:00:00.000Z`."""
    return datetime.fromtimestamp(round(at_s, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
