"""A part in its sandbox: what of the machine it may use, as the guards in Python see it too."""

import tempfile
from contextlib import suppress
from pathlib import Path

from . import sandbox
from .events import EventWriter
from .guards.files import caches, hub_cache, own_temporary_folder, tokens, workplaces
from .part_request import PartRequest

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
