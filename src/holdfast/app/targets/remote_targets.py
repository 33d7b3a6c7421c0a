"""Fetching a target from the web or the Hub, and keeping the copy."""

import logging
import os
from typing import Final

from holdfast.adapters.hub.scripts import commit_in, fetch_script, name_of
from holdfast.adapters.hub.settings import why_offline
from holdfast.adapters.storage.fetched_targets import FetchedTarget, keep_target, kept_target
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
    kept = kept_target(target)
    silent = "--offline" if offline else why_offline(os.environ)
    if kept and (silent or _is_current(kept, target)):
        return kept.path
    if silent:
        raise _not_fetched(target, silent, offline=offline)
    fetched = fetch_script(target, os.environ)
    new = keep_target(target, name_of(target), fetched.content, fetched.commit)
    _warn_of_change(target, kept, new)
    return new.path


def _warn_of_change(target: str, kept: FetchedTarget | None, new: FetchedTarget) -> None:
    """Write a warning if a file was fetched for the first time, or differs from its last copy."""
    if kept is None or kept.sha256 != new.sha256:
        of_commit = f" of commit {new.commit}" if new.commit else ""
        LOG.warning("fetched %s%s to %s (sha256 %s)", target, of_commit, new.path, new.sha256)


def _is_current(kept: FetchedTarget, target: str) -> bool:
    """True of a copy of the commit that an address names."""
    return bool(kept.commit) and kept.commit == commit_in(target)


def _not_fetched(target: str, silent: str, *, offline: bool) -> UsageError:
    save = "save it here, or fetch it once where its host is reached"
    fix = save if offline else f"unset {silent} to have it fetched once"
    what = f"the file was not fetched before, and is not fetched now: {silent}"
    return UsageError(what, where=target, fix=fix)
