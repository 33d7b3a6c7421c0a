"""Names of the tensors of a model on the Hub, from the index of its weights or the header of a single file.

Source: headers are read by ranges as in `HfApi.parse_safetensors_file_metadata` of huggingface_hub 2.4. Not covered: weights in other formats.
"""

from typing import Final

from holdfast.adapters.hub.models import fetch_text
from holdfast.adapters.hub.repos import fetch_repo
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.local.model_files import INDEX, WHOLE, tensors_of
from holdfast.adapters.local.weights import LENGTH_BYTES, parse_header
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError

FIRST: Final = 100_000
"""Bytes that hold the whole header of most models; huggingface_hub asks for so many too."""
BEYOND: Final = 416
"""HTTP status of a range behind the end of a file."""
LONGEST: Final = 25_000_000
"""Bytes of a header; huggingface_hub reads none that is longer."""


def fetch_tensors(asking: HubSession, reference: Reference) -> frozenset[str]:
    """Return the names of a model's weights.

    Raises:
        SourceError: The Hub does not say, or the model's files do not.
    """
    repo = fetch_repo(asking, "model", reference.name, reference.revision)
    if not repo.exists or repo.commit is None or not repo.readable:
        raise SourceError(
            "the model's files cannot be read", where=reference.name, fix="give a token with access to it"
        )
    if WHOLE in repo.files:
        return _fetch_header(asking, repo, reference.revision or repo.commit)
    found = (
        tensors_of(fetch_text(asking, repo, reference.revision, INDEX) or "") if INDEX in repo.files else frozenset()
    )
    if not found:
        raise _unknown(repo)
    return found


def _fetch_header(asking: HubSession, repo: Repo, revision: str) -> frozenset[str]:
    """Return the names in the header of a single file, in one request for most."""
    head = _fetch_range(asking, repo, revision, FIRST, 0)
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if len(head) < LENGTH_BYTES or length > LONGEST:
        raise _unknown(repo)
    missing = LENGTH_BYTES + length - len(head)
    head += _fetch_range(asking, repo, revision, missing, len(head)) if missing > 0 else b""
    try:
        return frozenset(parse_header(head[LENGTH_BYTES : LENGTH_BYTES + length]))
    except ValueError:
        raise _unknown(repo) from None


def _fetch_range(asking: HubSession, repo: Repo, revision: str, first: int, after: int) -> bytes:
    reply = asking.file((repo.kind, repo.name, revision), WHOLE, first=first, after=after)
    if reply.status == BEYOND:
        return b""
    if not reply.ok:
        raise reply.unexpected()
    return reply.body


def _unknown(repo: Repo) -> SourceError:
    return SourceError("the names of its weights are not known", where=repo.name, fix="save it as safetensors")
