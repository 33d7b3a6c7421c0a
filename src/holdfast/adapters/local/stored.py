"""Files of this machine, with the digests that the Hub keeps of its own."""

import hashlib
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.core.check.hub import StoredFile

CHUNK_BYTES: Final = 1 << 20


def read_stored(path: Path) -> StoredFile:
    """Return a file's size and digests: SHA-256 of its bytes, and SHA-1 of the git blob that it would be."""
    size = path.stat().st_size
    sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open_foreign(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            sha256.update(chunk)
            blob.update(chunk)
    return StoredFile(bytes=size, digests={"sha256": sha256.hexdigest(), "git": blob.hexdigest()})
