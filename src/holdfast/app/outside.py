"""Who is asked about what a job names outside itself: this machine, and the Hub, unless it may not be asked."""

from functools import partial
from pathlib import Path
from typing import Final

from holdfast.adapters.hub import open_hub
from holdfast.adapters.local.references import LocalFolders
from holdfast.core.document import Document
from holdfast.engine.check.hub_facts import ReferenceResolver

WALKED: Final = "the Hub is asked only about files that are named, and this one was found in a folder"
OFFLINE: Final = "the Hub was not asked: --offline"


def open_outside(document: Document, unasked: str) -> ReferenceResolver:
    """Return where what a document names is looked for.

    Args:
        document: The document; names in it are those of folders beside it, too.
        unasked: Why the Hub is not asked; empty where it is. About a file that was found in a folder nobody is asked at all.
    """
    folders = [] if unasked == WALKED else [Path(), Path(document.path).parent]
    return ReferenceResolver(LocalFolders(folders), partial(open_hub, unasked))
