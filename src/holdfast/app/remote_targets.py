"""Fetching a target from the web or the Hub, and keeping the copy."""

import logging
import os
from typing import Final

from holdfast.adapters.hub.scripts import commit_in, fetch_script, name_of
from holdfast.adapters.hub.settings import why_offline
from holdfast.adapters.storage.fetched_targets import keep_target, kept_target
from holdfast.core.errors import UsageError

LOG: Final = logging.getLogger("holdfast")


def fetch_remote_target(target: str, *, offline: bool) -> str:
    """Return the path of the copy of a target.

    Args:
        target: `https://…` or `hf://…`.
        offline: Use the copy that was fetched last.

    Raises:
        UsageError: There is no such file, or none was fetched before and `offline` is set.
        SourceError: It cannot be fetched.
    """
    kept = kept_target(target, os.environ)
    silent = "--offline" if offline else why_offline(os.environ)
    if kept and (silent or (kept.commit and kept.commit == commit_in(target))):
        return kept.path
    if silent:
        fix = (
            "save it here, or fetch it once where its host is reached"
            if offline
            else f"unset {silent} to have it fetched once"
        )
        raise UsageError(f"the file was not fetched before, and is not fetched now: {silent}", where=target, fix=fix)
    fetched = fetch_script(target, os.environ)
    new = keep_target(target, name_of(target), fetched.content, fetched.commit)
    if kept is None or kept.sha256 != new.sha256:
        of_commit = f" of commit {new.commit}" if new.commit else ""
        LOG.warning("fetched %s%s to %s (sha256 %s)", target, of_commit, new.path, new.sha256)
    return new.path
