"""A file's bytes, or the range of them that is asked for.

Source: RFC 9110, section 14. `http_get` of huggingface_hub 2.4.0 goes on after a broken download with `Range: bytes=N-`; `fsspec` and
`get_safetensors_metadata` ask for ranges with an end.
"""

import re
from collections.abc import Mapping

from tests.helpers.hub.exchange import Reply, Request


def send(request: Request, content: bytes, headers: Mapping[str, str]) -> Reply:
    """Return the content, whole or in part."""
    told = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes"} | dict(headers)
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
    if not asked or not any(asked.groups()):
        return Reply(body=content, headers=told)
    first, last = (int(part) if part else None for part in asked.groups())
    if first is None:
        first, last = max(0, len(content) - (last or 0)), None
    if first >= len(content):
        return Reply(status=416, headers=told | {"Content-Range": f"bytes */{len(content)}"})
    end = min(len(content), last + 1) if last is not None else len(content)
    return Reply(
        status=206, body=content[first:end], headers=told | {"Content-Range": f"bytes {first}-{end - 1}/{len(content)}"}
    )
