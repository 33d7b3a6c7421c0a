"""What a repository holds at this moment, with the digest of each file.

Source: the siblings of `repo_info(files_metadata=True)` of huggingface_hub 2.4: `blobId` is the SHA-1 of the git blob, which for a large
file is that of its pointer, `lfs.sha256` the digest of a large file itself.
"""

from collections.abc import Mapping
from typing import Any

from holdfast.adapters.hub.repos import entries_at, fetch_info_now, parse_time, text_at
from holdfast.adapters.hub.session import HubSession
from holdfast.core.check.hub import RepoTree, StoredFile
from holdfast.core.check.reference import Reference


def fetch_repo_tree(asking: HubSession, reference: Reference) -> RepoTree:
    """Return the files of a repository.

    Raises:
        SourceError: The Hub does not say.
    """
    info = fetch_info_now(asking, reference.repo_kind, reference.name, reference.revision)
    if info is None:
        return RepoTree(files=None)
    files = {text_at(each, "rfilename"): _stored(each) for each in entries_at(info, "siblings")}
    return RepoTree(
        files=files, modified_s=parse_time(text_at(info, "lastModified")), commit=text_at(info, "sha") or None
    )


def _stored(record: Mapping[str, Any]) -> StoredFile:
    size, digest = record.get("size"), text_at(record.get("lfs"), "sha256")
    digests = {"sha256": digest} if digest else {"git": text_at(record, "blobId")}
    return StoredFile(
        bytes=size if isinstance(size, int) else 0, digests={kind: each for kind, each in digests.items() if each}
    )
