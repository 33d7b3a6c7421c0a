"""Targets that lie elsewhere: they are fetched, and every verb works on the copy."""

import logging
import os
from shlex import quote
from typing import Final

from holdfast.core.addresses import WEB
from holdfast.core.errors import UsageError

FETCHED: Final = (*WEB, "hf://")
"""Beginnings of addresses from which targets are fetched."""
LOG: Final = logging.getLogger("holdfast")


def fetch_target(target: str, *, offline: bool = False) -> str:
    """Return the path of a target: the target itself, or the copy of a file that lies elsewhere.

    A file is fetched again each time, unless its address names a commit: then the copy is as good.

    Args:
        target: A path, `https://…` or `hf://…`.
        offline: Use the copy that was fetched last.

    Raises:
        UsageError: There is no such file, or none was fetched before and `offline` is set.
        SourceError: It cannot be fetched.
    """
    if not target.startswith(FETCHED):
        _require_path(target)
        return target
    # Few targets lie elsewhere, and what asks takes as long to import as a script to check.
    from holdfast.adapters.hub.scripts import commit_in, fetch_script, name_of
    from holdfast.adapters.hub.settings import why_offline
    from holdfast.adapters.storage.fetched_targets import keep_target, kept_target

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


def _require_path(target: str) -> None:
    """Object to an address that cannot be fetched: as a path, it would only be said not to be there.

    Raises:
        UsageError: It is one.
    """
    scheme, found, rest = target.partition("://")
    if found and scheme.isalnum():
        fix = f"name {quote(rest)}" if scheme.lower() == "file" else "name a file, `https://…` or `hf://…`"
        raise UsageError(f"nothing is fetched from `{scheme}://`", where=target, fix=fix)


def require_none_elsewhere(targets: tuple[str, ...]) -> None:
    """Object to a target that lies elsewhere, where files are edited.

    Raises:
        UsageError: One does.
    """
    for target in targets:
        if target.startswith(FETCHED):
            fix = "save it here, and name that file"
            raise UsageError("a file that lies elsewhere cannot be fixed there", where=target, fix=fix)
