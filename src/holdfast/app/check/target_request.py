"""A request to check one target."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess, job_folder

STANDARD_INPUT = "-"
CATALOG = "catalog"
INSPECTED = frozenset({"tokens", "rewarded"})
"""What `holdfast inspect` alone finds out: it takes longer than a check may."""
IGNORES = "unused_ignores"
"""What is known only after all else was asked."""
COMMAND_LINE = "command line"
"""In the place of a target's path: what is asked about is a command line itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRequest:
    """What is asked about one target.

    Attributes:
        path: The target.
        only: Beginnings of the rule codes to ask; all where none is given.
        ignore: Beginnings of the rule codes to leave out.
        sets: Overrides of a job file's keys, `KEY=VALUE`.
        arguments: A script's own arguments; for a command line, its words.
        strict: Whether a rule that could not be asked counts as a failure.
        resolve: Who says which versions a program gets: `catalog`, or `uv`.
        checklist: Whether to go through the checklists too.
        edits: Whether fixes are told with their edits of the text.
        hub: Whether the Hub is asked about its names.
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
    """Return where a job file's data lies here, so that rules about rows can be asked; None where it does not."""
    if target.job is None:
        return None
    path = job_folder(target.document, hub) / expanded(target.job.dataset.path)
    return path if is_there(path) else None
