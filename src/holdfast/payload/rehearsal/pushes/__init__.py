"""Pushes: everything that would write to the Hub is done up to the request, which a dry Hub answers.

Clients are left as they are: they validate names, serialize and hash files, and raise what the Hub refuses. Requests are
taken at the door of the library that sends them, httpx or requests, before a hook may refuse them as offline. What may be
written to is known of the part request. Xet, which sends files by itself, is off.
"""

import importlib
import importlib.util
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import NOTEBOOK, PartRequest
from ..wrapping import when_imported, wrap
from . import pretended, retries
from .dry_hub import REFUSED, DryHub, DryRequest, DryResponse

HTTPX = ("httpx", "httpx2")
RAISERS = (
    "huggingface_hub.hf_api",
    "huggingface_hub._commit_api",
    "huggingface_hub.lfs",
    "huggingface_hub.utils._http",
)
TIMEOUT_S = 10.0
WRITES = ("POST", "PUT", "PATCH", "DELETE")
OFFLINE_ANSWERS = {
    "validate-yaml": ("the model card's metadata", b'{"errors": [], "warnings": []}'),
    "whoami-v2": ("the token", pretended.USER),
}
"""What the Hub says of a card or a token that it accepts, by the end of the address: an offline rehearsal cannot ask it."""


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Have writes to the Hub answered here."""
    os.environ["HF_HUB_DISABLE_XET"] = os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    when_imported("huggingface_hub.constants", _switch_off_xet)
    retries.install(os.environ)
    if part_request.script.endswith(NOTEBOOK):
        pretended.install(events)
    interceptor = RequestInterceptor(part_request, events)
    for name in HTTPX:
        when_imported(name, interceptor.take_httpx)
    when_imported("requests", interceptor.take_requests)
    for name in RAISERS:
        when_imported(name, lambda module: _stage_refusals(module, events))


def _switch_off_xet(constants: Any) -> None:
    constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_TELEMETRY = True


def _stage_refusals(module: Any, events: EventWriter) -> None:
    """Report what the dry Hub refuses as a failure of the push, wherever the script is."""

    def judge(original: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        if REFUSED not in response.headers:
            return original(response, *args, **kwargs)
        with in_push(events):
            return original(response, *args, **kwargs)

    if hasattr(module, "hf_raise_for_status") and not hasattr(module.hf_raise_for_status, "__wrapped__"):
        wrap(module, "hf_raise_for_status", judge)


@cache
def has_client() -> bool:
    """True if the Hub's client is installed."""
    return importlib.util.find_spec("huggingface_hub") is not None


class in_push:  # noqa: N801 - a context manager
    """Go through a part of a push amid another stage, which goes on afterwards; other threads have no stage."""

    def __init__(self, events: EventWriter) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        self._events, self._outside = events, events.outside
        self._during: Any = events.during("push") if is_main else nullcontext()

    def __enter__(self) -> None:
        self._during.__enter__()

    def __exit__(self, *error: object) -> Any:
        try:
            return self._during.__exit__(*error)
        finally:
            if not isinstance(self._during, nullcontext):
                self._events.outside = self._outside


class RequestInterceptor:
    """Where requests leave this process."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events
        self._hub: DryHub | None = None

    @property
    def hub(self) -> DryHub:
        """The dry Hub; its address is known when huggingface_hub is imported."""
        if self._hub is None:
            endpoint = importlib.import_module("huggingface_hub.constants").ENDPOINT
            folder = Path(self._part_request.folder, "pushed")
            self._hub = DryHub(endpoint, folder, self._part_request, self._ask, self._events)
        return self._hub

    def _ask(self, path: str, token: str) -> DryResponse:
        """Ask the real Hub, as the client does."""
        if self._part_request.offline:
            return DryResponse(0)
        constants = importlib.import_module("huggingface_hub.constants")
        session = importlib.import_module("huggingface_hub.utils").get_session()
        own_headers = {"authorization": f"Bearer {token}"} if token not in ("", pretended.TOKEN) else {}
        response = session.get(constants.ENDPOINT + path, headers=own_headers, timeout=TIMEOUT_S)
        return DryResponse(response.status_code, response.content)

    def _answer(self, method: str, url: str, headers: Any, read: Callable[[], bytes]) -> DryResponse | None:
        if not has_client():
            return None  # a program without the Hub's client pushes nothing, and its other requests are its own
        if method in WRITES and self._is_offline():
            return None  # the client refuses that itself
        request = DryRequest(method, url, {str(name).lower(): str(value) for name, value in headers.items()}, read)
        if request.token == pretended.TOKEN and request.path.endswith("/whoami-v2"):
            return DryResponse(200, pretended.USER, {"Content-Type": "application/json"})
        if method not in WRITES:
            return self._unnamed(self._dry_answer(request), request, headers)
        with in_push(self._events):
            return self._dry_answer(request)

    def _dry_answer(self, request: DryRequest) -> DryResponse | None:
        """Return the dry Hub's answer; None: the real Hub is contacted."""
        answer = self.hub.answer(request)
        about, body = OFFLINE_ANSWERS.get(request.path.rstrip("/").rpartition("/")[2], ("", b""))
        if answer is not None or not about or not self._part_request.offline:
            return answer
        self._events.not_rehearsed(
            f"whether the Hub accepts {about}", "this rehearsal does not ask the Hub; one without `--offline` does"
        )
        return DryResponse(200, body, {"Content-Type": "application/json"})

    def _unnamed(self, answer: DryResponse | None, request: DryRequest, headers: Any) -> DryResponse | None:
        """Return an answer; without one the real Hub is contacted, which is to see no token that is made up."""
        if answer is None and request.token == pretended.TOKEN:
            del headers["authorization"]
        return answer

    def _is_offline(self) -> bool:
        """Whether the job itself is to leave the Hub alone."""
        return not self._part_request.offline and bool(
            importlib.import_module("huggingface_hub.constants").HF_HUB_OFFLINE
        )

    def take_httpx(self, httpx: Any) -> None:
        """Take the place of what sends a request."""

        def dry(request: Any) -> Any:
            answer = self._answer(request.method, str(request.url), request.headers, request.read)
            if answer is None:
                return None
            content = answer.body if request.method != "HEAD" else None
            return httpx.Response(answer.status, headers=answer.headers, content=content, request=request)

        def send(original: Any, client: Any, request: Any, **kwargs: Any) -> Any:
            answer = dry(request)
            return original(client, request, **kwargs) if answer is None else answer

        async def send_later(original: Any, client: Any, request: Any, **kwargs: Any) -> Any:
            answer = dry(request) if request.method not in WRITES else None
            return await original(client, request, **kwargs) if answer is None else answer

        wrap(httpx.Client, "send", send)
        wrap(httpx.AsyncClient, "send", send_later)

    def take_requests(self, requests: Any) -> None:
        """Take the place of what sends a request, with huggingface_hub before 1.0."""

        def send(original: Any, session: Any, request: Any, **kwargs: Any) -> Any:
            answer = self._answer(request.method, request.url, request.headers, lambda: _body_of(request.body))
            if answer is None:
                return original(session, request, **kwargs)
            response = requests.Response()
            response.status_code, response.url, response.request = answer.status, request.url, request
            response.headers.update(answer.headers)
            response._content = answer.body
            return response

        wrap(requests.Session, "send", send)


def _body_of(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return bytes(body.read()) if hasattr(body, "read") else b"".join(body)
