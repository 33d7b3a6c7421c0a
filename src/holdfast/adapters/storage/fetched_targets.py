"""Copies of the targets that were fetched from elsewhere, in the user's cache: by their content, and found by their address.

    targets/<sha256>/train.py         the file, under its own name
    targets/addresses/<sha256>.json   of an address: what was last fetched from there

A copy never changes, so that a run that is resumed starts from the file that it began with.
"""

import json
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from msgspec import convert

from holdfast.adapters.foreign_files import read_foreign, read_foreign_text
from holdfast.adapters.storage.check_cache import user_cache
from holdfast.adapters.storage.private_files import write_private
from holdfast.core.errors import SourceError
from holdfast.core.text.json_text import parse_json

SHORT = 16
"""Digits of a digest in the name of a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTarget:
    """A target that was fetched.

    Attributes:
        address: Where it is from, as it was named.
        path: The copy.
        sha256: Of its content.
        commit: The commit of the repository that it is from; None if that is not known.
    """

    address: str
    path: str
    sha256: str
    commit: str | None = None


def kept_target(address: str) -> FetchedTarget | None:
    """Return the last copy of an address; None if there is none, or if it was changed."""
    try:
        kept = convert(parse_json(read_foreign_text(_index(address))), FetchedTarget)
        content = read_foreign(Path(kept.path))
    except (OSError, ValueError):
        return None
    return kept if kept.address == address and sha256(content).hexdigest() == kept.sha256 else None


def keep_target(address: str, name: str, content: bytes, commit: str | None) -> FetchedTarget:
    """Keep what was fetched.

    Raises:
        SourceError: The cache cannot be written.
    """
    digest = sha256(content).hexdigest()
    path = _folder() / digest[:SHORT] / name
    kept = FetchedTarget(address=address, path=str(path), sha256=digest, commit=commit)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        write_private(_index(address), json.dumps(asdict(kept), indent=1))
    except OSError as error:
        fix = "free some disk space, or set XDG_CACHE_HOME to a folder that can be written"
        raise SourceError(f"the file cannot be kept: {error.strerror}", where=str(path.parent), fix=fix) from error
    return kept


def _index(address: str) -> Path:
    return _folder() / "addresses" / f"{sha256(address.encode()).hexdigest()[:SHORT]}.json"


def _folder() -> Path:
    return user_cache(os.environ) / "targets"
