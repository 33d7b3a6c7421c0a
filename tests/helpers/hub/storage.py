"""The host that large files are redirected to, and put on: nothing there asks for a token, and none must be sent.

Source: on the real Hub these are addresses of a store, signed for an hour; `_is_same_or_hub_host` of huggingface_hub 2.4.0 takes another port for
another host and leaves the token out. The store's own `ETag` of a download is not the file's hash.
"""

from hashlib import md5, sha256

from tests.helpers.hub.exchange import HubError, Reply, no_page
from tests.helpers.hub.sending import send
from tests.helpers.hub.world import Visit


def answer(visit: Visit) -> Reply:
    """Return or take the content of a large file."""
    request, world, oid = visit.request, visit.world, "".join(visit.rest[:1])
    if request.method in ("GET", "HEAD"):
        content = world.content(oid)
        if content is None:
            raise no_page()
        return send(request, content, {"ETag": f'"{md5(content, usedforsecurity=False).hexdigest()}"'})
    if request.method != "PUT":
        raise no_page()
    if len(visit.rest) == 1:
        if sha256(request.body).hexdigest() != oid:
            raise HubError(400, "The content does not have that hash")
        world.large[oid] = request.body
    else:
        world.parts.setdefault(oid, {})[int(visit.rest[1])] = request.body
    return Reply(headers={"ETag": f'"{md5(request.body, usedforsecurity=False).hexdigest()}"'})
