"""Targets that lie elsewhere: they are fetched, and every verb works on the copy."""

from collections.abc import Sequence
from shlex import quote
from typing import Final

from holdfast.core.errors import UsageError
from holdfast.core.text.addresses import WEB

FETCHED: Final = (*WEB, "hf://")
"""Beginnings of addresses from which targets are fetched."""


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
    from holdfast.app.targets.remote_targets import fetch_remote_target

    return fetch_remote_target(target, offline=offline)


def _require_path(target: str) -> None:
    """Refuse an address that cannot be fetched: as a path, it would only be reported as absent.

    Raises:
        UsageError: It is one.
    """
    scheme, found, rest = target.partition("://")
    if found and scheme.isalnum():
        fix = f"name {quote(rest)}" if scheme.lower() == "file" else "name a file, `https://…` or `hf://…`"
        raise UsageError(f"addresses with `{scheme}://` cannot be fetched", where=target, fix=fix)


def require_none_elsewhere(targets: Sequence[str]) -> None:
    """Refuse targets that lie elsewhere, where files are edited.

    Raises:
        UsageError: One does.
    """
    for target in targets:
        if target.startswith(FETCHED):
            fix = "save it here, and name that file"
            raise UsageError("a file that lies elsewhere cannot be fixed there", where=target, fix=fix)
