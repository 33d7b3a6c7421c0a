"""Addresses of scripts: what stands there.

Covered: http and https; redirects. A token is never sent along, since whoever runs the script has none either.
"""

from functools import partial
from typing import Final
from urllib.parse import urlsplit

from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.wire import HubRequest, Reply
from holdfast.core.check.hub import Link
from holdfast.core.errors import SourceError

SCHEMES: Final = ("http", "https")
NEEDS_GET: Final = frozenset({403, 404, 405, 501})
"""What hosts say to a HEAD that they do not serve."""
LITTLE: Final = 512
"""Bytes that are read where HEAD is not served."""


def fetch_link(asking: HubSession, address: str) -> Link:
    """Return the target of an address.

    Raises:
        SourceError: It is no address of the web, or nobody answers there.
    """
    if urlsplit(address).scheme not in SCHEMES:
        raise SourceError("no address of the web", where=address, fix="give one that begins with https://")
    return asking.once(("link", address), partial(_fetch_link, asking, address))


def _fetch_link(asking: HubSession, address: str) -> Link:
    reply = asking.ask(HubRequest(url=address, method="HEAD", signed=False))
    if reply.status in NEEDS_GET:
        reply = asking.ask(
            HubRequest(url=address, signed=False, first=LITTLE, headers={"range": f"bytes=0-{LITTLE - 1}"})
        )
    return Link(status=_status(reply), media_type=_media_type(reply))


def _status(reply: Reply) -> int:
    partial_content, whole = 206, 200
    return whole if reply.status == partial_content else reply.status


def _media_type(reply: Reply) -> str:
    return reply.headers.get("content-type", "").partition(";")[0].strip().lower()
