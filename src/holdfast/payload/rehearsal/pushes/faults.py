"""Faults of the Hub at a push: it answers too many requests, is not there, or does not know the token any more.

A repository is still made, as by a token that runs out later. The client waits between its tries as ever, only shorter.
"""

import json
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import when_imported, wrap

FAULTS = {
    "hub-429": (429, "Too Many Requests: you have reached your 'api' rate limit."),
    "hub-503": (503, "Service Unavailable"),
    "expired-token": (401, "Invalid credentials in Authorization header"),
}
"""What the Hub answers, and what it says."""
WAIT_S = 0.02
CREATES = "/api/repos/create"


class PushFault:
    """The fault of one part: from the first upload on, the Hub refuses whatever is written."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._name = part_request.fault if part_request.fault in FAULTS and part_request.part == "stop" else ""
        self._events, self._struck = events, False
        if self._name:
            when_imported(
                "huggingface_hub.utils._http", lambda module: wrap(module, "_http_backoff_base", _wait_shortly)
            )

    def refusal(self, path: str) -> tuple[int, bytes, dict[str, str]] | None:
        """Return status, body and headers of the answer to a write; None if the fault does not strike."""
        if not self._name or path.startswith(CREATES):
            return None
        if not self._struck:
            self._struck = True
            self._events.fact("fault", name=self._name)
        status, because = FAULTS[self._name]
        return (
            status,
            json.dumps({"error": because}).encode(),
            {"X-Error-Message": because, "Content-Type": "application/json"},
        )


def _wait_shortly(original: Any, method: Any, url: str, **kwargs: Any) -> Any:
    return original(method, url, **{**kwargs, "base_wait_time": WAIT_S, "max_wait_time": WAIT_S})
