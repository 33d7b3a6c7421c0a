"""Long lists in several answers.

Source: `huggingface_hub.utils.paginate` follows `Link: <address>; rel="next"`; what the cursor in it says is the Hub's own affair.
"""

from typing import Any
from urllib.parse import urlencode

from tests.helpers.hub.exchange import Reply, as_json
from tests.helpers.hub.world import Visit


def page_of(visit: Visit, entries: list[Any], limit: int | None = None) -> Reply:
    """Return the part of a list that is asked for, with a link to the next part if there is one."""
    size = min(limit or visit.world.page_size, visit.world.page_size)
    start = int(visit.request.get("cursor", "0"))
    headers = {}
    if start + size < len(entries):
        query = [(key, value) for key, value in visit.request.query if key != "cursor"]
        following = urlencode([*query, ("cursor", str(start + size))])
        headers["Link"] = f'<{visit.world.address}{visit.request.path}?{following}>; rel="next"'
    return as_json(entries[start : start + size], headers=headers)
