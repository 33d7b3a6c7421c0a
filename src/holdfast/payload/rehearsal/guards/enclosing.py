"""Puts a part into its sandbox, with the folders that the guards in Python leave to it."""

import tempfile
from contextlib import suppress
from pathlib import Path

from .. import sandbox
from ..events import EventWriter
from ..part_request import PartRequest
from .files import caches, hub_cache, own_temporary_folder, tokens, workplaces

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - nothing is written there


def enclose(part_request: PartRequest, events: EventWriter) -> PartRequest:
    """Enclose this process, where there is a sandbox; return the part request, with the way to the network."""
    own_temporary_folder(part_request)
    with suppress(OSError):  # what is downloaded is kept only in a folder that is there
        hub_cache().mkdir(parents=True, exist_ok=True)
    homes = [*workplaces(part_request), str(Path.home()), tempfile.gettempdir(), *TEMPORARY]
    try:
        return sandbox.enclose(part_request, events, homes, caches(), tokens())
    except OSError as error:
        events.fact("no_sandbox", because=str(error))
        return part_request
