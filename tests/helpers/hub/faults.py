"""What a test lets go wrong: refusals, slowness, silence, connections that end in the middle, commits that are taken and lost.

A fault has a pattern, a regular expression that is looked for in `GET /api/models/acme/small?blobs=True` (`Request.told`), and may hold for a number
of times only.

Source: the real Hub's answer to too many requests has `RateLimit: "api";r=0;t=55`, of which huggingface_hub 2.4.0 waits t + 1 seconds and then asks
again; without it, it waits 1, 2, 4, 8 and 8 seconds, as after 500, 502, 503 and 504. It does not read `Retry-After`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from tests.helpers.hub.exchange import HubError, Request

MESSAGES = {
    400: "Bad Request",
    401: "Invalid credentials in Authorization header",
    402: "Pre-paid credit balance is insufficient - add more credits to your account to use Jobs.",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    429: "We had to rate limit you, you hit the quota of 1000 api requests per 5 minutes period.",
    500: "Internal Error - We're working hard to fix this as soon as possible!",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


@dataclass(slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        pattern: Which requests it befalls.
        kind: `fail` is an answer that refuses; `slow` waits first; `hang` never answers; `break` ends the connection in the body; `cut` ends
            it without an answer; `mute` does what is asked, and then ends it without an answer; `truncate` answers with a part of the body, as if that
            were all.
        left: How often it still holds; None for ever.
        refusal: Of `fail`.
        seconds: Of `slow`.
        after_bytes: Of `break`: of the body, which is told in whole. Of `truncate`: what there is of it.
    """

    pattern: re.Pattern[str]
    kind: Literal["fail", "slow", "hang", "break", "cut", "mute", "truncate"]
    left: int | None = None
    refusal: HubError | None = None
    seconds: float = 0.0
    after_bytes: int = 0


@dataclass(slots=True)
class Faults:
    """All that goes wrong at the moment."""

    active: list[Fault] = field(default_factory=list[Fault])
    lock: Lock = field(default_factory=Lock)

    def add(self, fault: Fault) -> None:
        with self.lock:
            self.active.append(fault)

    def clear(self) -> None:
        with self.lock:
            self.active.clear()

    def take(self, request: Request) -> list[Fault]:
        """Return what befalls a request, at most one of a kind, and count it."""
        taken: dict[str, Fault] = {}
        with self.lock:
            for fault in self.active:
                if fault.left != 0 and fault.kind not in taken and fault.pattern.search(request.told):
                    taken[fault.kind] = fault
                    fault.left = fault.left - 1 if fault.left is not None else None
        return list(taken.values())


def refusal(status: int, *, message: str = "", code: str = "", headers: Mapping[str, str] | None = None) -> HubError:
    """Return the refusal that a fault answers with."""
    told = dict(headers or {})
    if status == 429:
        told.setdefault("RateLimit", '"api";r=0;t=1')
        told.setdefault("RateLimit-Policy", '"fixed window";"api";q=1000;w=300')
    return HubError(status, message or MESSAGES.get(status, "Error"), code, headers=told)
