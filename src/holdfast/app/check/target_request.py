"""A request to check one target."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess, job_folder
from holdfast.catalog.builtin import BUILTIN
from holdfast.catalog.hub.repositories import may_be_repository

CATALOG = "catalog"
INSPECTED = frozenset({"tokens", "rewarded"})
"""Facts that only `holdfast inspect` finds out, because this takes longer than a check may."""
IGNORES = "unused_ignores"
"""The fact that is known only after all other rules have run."""
COMMAND_LINE = "command line"
"""Stands for the path if the target is a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRequest:
    """A request to check one target.

    Attributes:
        path: The target.
        only: Beginnings of the codes of rules to check; empty for all.
        ignore: Beginnings of the codes of rules to leave out.
        sets: Overrides of a job file's keys, `KEY=VALUE`.
        arguments: A script's own arguments; for a command line, its words.
        strict: Whether a skipped rule counts as a failure.
        resolve: What resolves the versions that a program gets: `catalog` or `uv`.
        checklist: Whether to fill in the checklists too.
        edits: Whether the result contains the text edits of fixes.
        hub: Whether the Hub is contacted about what the target names.
    """

    path: str
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    strict: bool = False
    resolve: str = CATALOG
    checklist: bool = False
    edits: bool = True
    hub: HubAccess = HubAccess.ASKED


def local_rows(target: Target, hub: HubAccess) -> Path | None:
    """Return the path of a job file's data on this machine, so that rules about rows can run; None if it can be elsewhere."""
    if target.job is None:
        return None
    name = target.job.dataset.path
    path = job_folder(target.document, hub) / expanded(name)
    return path if is_there(path) or not (name.startswith(BUILTIN) or may_be_repository(name)) else None


def refuse_overrides(path: str, sets: Sequence[str]) -> None:
    """Refuse overrides of what is not a job file.

    Raises:
        UsageError: There is one.
    """
    if sets:
        from holdfast.adapters.targets.overrides import require_no_overrides  # a YAML parser, which no script needs

        require_no_overrides(path, sets)
