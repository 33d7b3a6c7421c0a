"""Where the names in a target are looked up: on this machine, and on the Hub unless it is left out."""

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Self

from holdfast.adapters.hub import open_hub
from holdfast.adapters.local.references import LocalFolders, start_of
from holdfast.core.job.document import Document
from holdfast.engine.check.hub_facts import ReferenceResolver


class HubAccess(Enum):
    """Whether the Hub is contacted about a target."""

    ASKED = "asked"
    WALKED = "walked"
    OFFLINE = "offline"

    @classmethod
    def unless(cls, *, offline: bool) -> Self:
        """Return the access to the Hub for files that are named; none with `--offline`."""
        return cls.OFFLINE if offline else cls.ASKED

    @property
    def because(self) -> str:
        """Why the Hub is not contacted; empty if it is."""
        match self:
            case HubAccess.ASKED:
                return ""
            case HubAccess.WALKED:
                return "the Hub is contacted only about files that you name, and this one was found in a folder"
            case HubAccess.OFFLINE:
                return "the Hub was not contacted: --offline"


def open_outside(document: Document, hub: HubAccess) -> ReferenceResolver:
    """Return the resolver of a document's references; names in it may be those of folders beside it too."""
    walked = hub is HubAccess.WALKED
    folders = [job_folder(document, hub)] if document.kind == "job" else [Path(), Path(document.path).parent]
    here, waits = LocalFolders(folders, walked=walked), hub is HubAccess.ASKED
    return ReferenceResolver(here, partial(open_hub, hub.because), waits=waits)


def job_folder(document: Document, hub: HubAccess) -> Path:
    """Return the folder that the relative paths of a job, as it was read, start from.

    This is the working directory: for what lies next to the job file, the reader has already changed the path. A job file
    that was found in a folder may be meant to be started elsewhere: next to the data that it names.
    """
    if hub is not HubAccess.WALKED:
        return Path()
    named = [name for key in ("model.path", "dataset.path") if isinstance(name := document.get(key, None), str)]
    return start_of([Path(), Path(document.path).parent], named)
