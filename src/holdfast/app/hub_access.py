"""Who is asked about what a job names outside itself: this machine, and the Hub, unless it may not be asked."""

from functools import partial
from pathlib import Path
from typing import Final

from holdfast.adapters.hub import open_hub
from holdfast.adapters.local.references import LocalFolders, start_of
from holdfast.core.document import Document
from holdfast.engine.check.hub_facts import ReferenceResolver

WALKED: Final = "the Hub is asked only about files that are named, and this one was found in a folder"
OFFLINE: Final = "the Hub was not asked: --offline"


def open_outside(document: Document, unasked: str) -> ReferenceResolver:
    """Return where what a document names is looked for.

    Args:
        document: The document; names in it are those of folders beside it, too.
        unasked: Why the Hub is not asked; empty where it is.
    """
    walked = unasked == WALKED
    folders = [job_folder(document, unasked)] if document.kind == "job" else [Path(), Path(document.path).parent]
    return ReferenceResolver(LocalFolders(folders, walked=walked), partial(open_hub, unasked))


def job_folder(document: Document, unasked: str) -> Path:
    """Return the folder that the paths of a job file start from.

    That is where holdfast is started. A job file that was found in a folder may be started beside its data.
    """
    if unasked != WALKED:
        return Path()
    named = [name for key in ("model.path", "dataset.path") if isinstance(name := document.get(key, None), str)]
    return start_of([Path(), Path(document.path).parent], named)
