"""Buckets and their files. No networking here.

Source: the fields of `BucketInfo` and `BucketFile` (`huggingface_hub/_buckets.py`, 2.4.0). The Hub knows a file's content by its Xet hash; of a file
that did not come through Xet (a test seeded it, a job wrote it to a mounted folder) the SHA-256 takes its place, which clients cannot tell apart.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_hex
from typing import Any

from tests.helpers.hub.accounts import SINCE_S
from tests.helpers.hub.repositories import NOTHING, Files, iso, read_files

FULL = "Storage limit reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFile:
    """One file. `xet_hash` has 64 hexadecimal digits; `mtime_s` is what the writer says, `uploaded_s` when it arrived."""

    content: bytes
    xet_hash: str
    mtime_s: float
    uploaded_s: float

    def told(self, path: str) -> dict[str, Any]:
        """Return what the Hub says of it."""
        return {
            "type": "file",
            "path": path,
            "size": len(self.content),
            "xetHash": self.xet_hash,
            "mtime": iso(self.mtime_s),
            "uploadedAt": iso(self.uploaded_s),
        }


@dataclass(slots=True, kw_only=True)
class Bucket:
    """A bucket.

    Attributes:
        name: `namespace/name`.
        private: Whether only its owners see it.
        files: By path.
        limit: Bytes that fit; None for no limit.
        refused: Paths of jobs' files that did not fit.
    """

    name: str
    private: bool = False
    made_s: float = SINCE_S
    files: dict[str, BucketFile] = field(default_factory=dict[str, BucketFile])
    limit: int | None = None
    refused: list[str] = field(default_factory=list[str])

    @property
    def namespace(self) -> str:
        return self.name.partition("/")[0]

    @property
    def size(self) -> int:
        return sum(len(file.content) for file in self.files.values())

    @property
    def contents(self) -> dict[str, bytes]:
        """Content of each file, by path."""
        return {path: file.content for path, file in sorted(self.files.items())}

    def fits(self, path: str, size: int) -> bool:
        """True if a file may have this size."""
        there = len(self.files[path].content) if path in self.files else 0
        return self.limit is None or self.size - there + size <= self.limit

    def put(self, path: str, content: bytes, *, mtime_s: float, now_s: float, xet_hash: str = "") -> bool:
        """Take a file, and return whether it fitted."""
        if not self.fits(path, len(content)):
            return False
        digest = xet_hash or sha256(content).hexdigest()
        self.files[path] = BucketFile(content=content, xet_hash=digest, mtime_s=mtime_s, uploaded_s=now_s)
        return True

    def told(self) -> dict[str, Any]:
        """Return what the Hub says of it."""
        return {
            "id": self.name,
            "private": self.private,
            "visibility": "private" if self.private else "public",
            "createdAt": iso(self.made_s),
            "size": self.size,
            "totalFiles": len(self.files),
        }


class Buckets:
    """All buckets by name, and content that was uploaded, by its Xet hash.

    Attributes:
        store: First part of the path of the store's address. hf_xet remembers on disk what it sent to an address, and sends it no second time;
            the next Hub that gets the same port has none of it.
    """

    def __init__(self) -> None:
        self.store = f"cas-{token_hex(8)}"
        self.all: dict[str, Bucket] = {}
        self.uploaded: dict[str, bytes] = {}
        self.xorbs: dict[str, list[bytes]] = {}

    def __getitem__(self, name: str) -> Bucket:
        return self.all[name]

    def add(self, name: str, files: Files = NOTHING, **settings: Any) -> Bucket:
        """Make a bucket; `settings` are attributes of `Bucket`."""
        bucket = self.all[name] = Bucket(name=name, **settings)
        for path, content in read_files(files).items():
            bucket.put(path, content, mtime_s=bucket.made_s, now_s=bucket.made_s)
        return bucket

    def content(self, xet_hash: str) -> bytes | None:
        """Return content by its hash, wherever it is."""
        if xet_hash in self.uploaded:
            return self.uploaded[xet_hash]
        files = (file for bucket in self.all.values() for file in bucket.files.values())
        return next((file.content for file in files if file.xet_hash == xet_hash), None)
