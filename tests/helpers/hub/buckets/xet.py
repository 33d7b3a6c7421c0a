"""The store that content of buckets travels through, on the other host.

Source: the requests of hf_xet 1.8.0, and https://huggingface.co/docs/xet/api. Its newer ones (`xorb-grants`) are answered 404, whereupon it falls back
on the specified ones. `POST /v2/shards` is answered by a line of JSON with a `type`, as hf_xet 1.8.0 demands.
Content that is asked for is told as one xorb of its own, named as the file, so that what a job wrote needs no hashes of Xet.
"""

import re

from tests.helpers.hub.buckets.xet_format import CHUNK, HEADER, read_shard, read_xorb, write_xorb
from tests.helpers.hub.exchange import HubError, Reply, as_json, no_page
from tests.helpers.hub.sending import send
from tests.helpers.hub.world import Visit

TOKEN_S = 3600


def token(visit: Visit) -> Reply:
    """GET .../xet-read-token and .../xet-write-token: where the store is, and the token for it."""
    address, ends = f"{visit.world.outside}/{visit.world.buckets.store}", str(int(visit.now_s) + TOKEN_S)
    headers = {"X-Xet-Cas-Url": address, "X-Xet-Access-Token": "xet", "X-Xet-Token-Expiration": ends}
    return as_json({"casUrl": address, "exp": int(ends), "accessToken": "xet"}, headers=headers)


def answer(visit: Visit) -> Reply:
    """Answer what is asked of the store."""
    request, buckets = visit.request, visit.world.buckets
    match [request.method, *visit.rest]:
        case ["POST", "v1", "xorbs", _, name]:
            new = name not in buckets.xorbs
            buckets.xorbs[name] = read_xorb(request.body)
            return as_json({"was_inserted": new})
        case ["POST", _, "shards"]:
            for file, terms in read_shard(request.body).items():
                parts = [chunk for term in terms for chunk in buckets.xorbs[term.xorb][term.start : term.end]]
                buckets.uploaded[file] = b"".join(parts)
            return as_json({"type": "result", "result": 1})
        case ["GET", "v1", "reconstructions", name]:
            return _reconstruction(visit, name)
        case ["GET", "xorb", name]:
            return send(request, write_xorb(_content(visit, name)), {})
        case ["GET" | "HEAD", "file", name]:
            return send(request, _content(visit, name), {"ETag": f'"{name}"'})
        case _:
            raise no_page()


def _content(visit: Visit, name: str) -> bytes:
    content = visit.world.buckets.content(name)
    if content is None:
        raise no_page()
    return content


def _reconstruction(visit: Visit, name: str) -> Reply:
    """Return which chunks make up a file, or the range of it that is asked for."""
    size = len(_content(visit, name))
    asked = re.fullmatch(r"bytes=(\d+)-(\d*)", visit.request.headers.get("range", ""))
    first, last = (int(asked[1]), int(asked[2] or size - 1)) if asked else (0, size - 1)
    if first >= size:
        raise HubError(416, "The range is beyond the end of the file")
    start, end = first // CHUNK, min(last, size - 1) // CHUNK + 1
    held = min(end * CHUNK, size)
    chunks = {"start": start, "end": end}
    whole = CHUNK + HEADER
    part = {
        "range": chunks,
        "url": f"{visit.world.outside}/{visit.world.buckets.store}/xorb/{name}",
        "url_range": {"start": start * whole, "end": held + end * HEADER - 1},
    }
    return as_json(
        {
            "offset_into_first_range": first - start * CHUNK,
            "terms": [{"hash": name, "unpacked_length": held - start * CHUNK, "range": chunks}],
            "fetch_info": {name: [part]},
        }
    )
