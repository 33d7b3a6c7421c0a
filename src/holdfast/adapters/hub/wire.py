"""One request to the Hub, or to another host, through huggingface_hub's own session.

Covered: limits of time and size for the whole of an answer, one more try where the answer broke off or where the host asks to come back
soon. Not covered: addresses that a name server takes long to find; whoever asks is waited for by `answers.py` no longer than it may take.
"""

import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.adapters.clock import SystemClock
from holdfast.core.errors import SourceError
from holdfast.core.text.json_text import parse_json

Json = dict[str, Any]
MEBIBYTE: Final = 1 << 20
LARGEST: Final = 64 * MEBIBYTE
"""No answer that is read whole is larger; that of a repository with 200,000 files is not."""
COME_BACK: Final = frozenset({429, 500, 502, 503, 504})
SOON_S: Final = 2.0
"""A host that wants to be left alone for longer is: nobody waits for a check."""
DOWN_S: Final = 30.0
"""For how long a host that did not answer is not asked again."""
TRY_AGAIN: Final = "try again later"
TOO_MANY: Final = 429
USED_UP: Final = re.compile(r"\br=0;t=(?P<reset>[0-9]+)")
"""What the Hub says of a quota that is used up, and after how many seconds it is new."""
SECRET: Final = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRequest:
    """The request.

    Attributes:
        url: The address.
        params: What stands behind its question mark.
        headers: Beside those that every request has.
        method: As HTTP has it.
        first: How many bytes of the answer are wanted; the others are not waited for.
        signed: Whether the token goes with it.
    """

    url: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    method: str = "GET"
    first: int | None = None
    signed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was answered.

    Attributes:
        status: HTTP status.
        headers: By their names in small letters.
        body: As far as it was read.
        url: The address that answered, after redirects, without its parameters: those of a store are signed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    url: str

    @property
    def ok(self) -> bool:
        """Whether it holds what was requested."""
        return 200 <= self.status < 300  # noqa: PLR2004 - as HTTP has it

    @property
    def code(self) -> str:
        """The Hub's own word for what is wrong: `RepoNotFound`, `GatedRepo`."""
        return self.headers.get("x-error-code", "")

    def json(self) -> Any:
        """Return the parsed JSON of the reply.

        Raises:
            SourceError: It is none.
        """
        try:
            return parse_json(self.body)
        except ValueError:
            raise SourceError("the Hub's answer is not valid JSON", where=self.url, fix=TRY_AGAIN) from None

    def mapping(self) -> Json:
        """Return the JSON object that it holds.

        Raises:
            SourceError: It holds none.
        """
        found = self.json()
        if not isinstance(found, dict):
            raise SourceError("the Hub's answer is not of the form that is known", where=self.url, fix=TRY_AGAIN)
        return found

    def unexpected(self) -> SourceError:
        """Return the error for a reply that cannot be interpreted."""
        return SourceError(f"the Hub answered {self.status}", where=self.url, fix=_advice(self.status))


class CircuitBreaker:
    """Which hosts did not answer, and when: those are not asked again for a while."""

    def __init__(self) -> None:
        self._down: dict[str, tuple[float, str]] = {}
        self._lock = Lock()

    def require(self, url: str) -> None:
        """Refuse to ask a host that did not answer a moment ago.

        Raises:
            SourceError: With the same reason as then.
        """
        with self._lock:
            at_s, because = self._down.get(_host(url), (0.0, ""))
        if because and time.monotonic() - at_s < DOWN_S:
            raise SourceError(because, where=_host(url), fix=TRY_AGAIN)

    def lost(self, url: str, because: str) -> SourceError:
        """Remember that a host did not answer, and return what to say of that."""
        with self._lock:
            self._down[_host(url)] = (time.monotonic(), because)
        return SourceError(because, where=_host(url), fix=TRY_AGAIN)


class HubTransport:
    """Sends requests, each with a limit."""

    def __init__(self, reach: CircuitBreaker, *, patience_s: float) -> None:
        """Take what is known of hosts, and how long one may be silent, in seconds."""
        self._reach, self._patience_s = reach, patience_s

    def send(self, request: HubRequest, token: str | None, deadline_s: float) -> Reply:
        """Return the answer to a request, whatever its status.

        Args:
            request: The request.
            token: What it is signed with, if at all.
            deadline_s: When it is too late, on the monotonic clock.

        Raises:
            SourceError: There is no answer, or not in time.
        """
        try:
            reply = self._try(request, token, deadline_s)
        except _BrokenOffError:
            reply = self._again(request, token, deadline_s)
        wait_s = _wait_s(reply)
        if wait_s is None or time.monotonic() + wait_s >= deadline_s:
            return reply
        SystemClock().sleep(wait_s)
        return self._again(request, token, deadline_s)

    def _again(self, request: HubRequest, token: str | None, deadline_s: float) -> Reply:
        try:
            return self._try(request, token, deadline_s)
        except _BrokenOffError:
            raise SourceError(f"{_who(request)} broke off its answer", where=request.url, fix=TRY_AGAIN) from None

    def _try(self, request: HubRequest, token: str | None, deadline_s: float) -> Reply:
        self._reach.require(request.url)
        hub, http = import_module("huggingface_hub"), http_library()
        left_s = min(self._patience_s, deadline_s - time.monotonic())
        if left_s <= 0:
            raise SourceError(f"{_who(request)} took too long", where=request.url, fix=TRY_AGAIN)
        try:
            return self._exchange(request, _headers(request, token, hub.__version__), left_s, deadline_s)
        except http.TimeoutException:
            raise self._reach.lost(
                request.url, f"{_who(request)} did not answer within {max(1, round(left_s))} s"
            ) from None
        except http.ConnectError as error:
            fault = "has no valid TLS certificate, or speaks no TLS" if _is_of_tls(error) else "cannot be reached"
            raise self._reach.lost(request.url, f"{_who(request)} {fault}") from None
        except (http.NetworkError, http.RemoteProtocolError):
            raise _BrokenOffError from None
        except hub.errors.OfflineModeIsEnabled:
            raise SourceError("HF_HUB_OFFLINE is set", where=request.url, fix="unset it to contact the Hub") from None
        except (http.HTTPError, http.InvalidURL):  # such as too many redirects; what it says may hold the token
            raise SourceError(f"{_who(request)} cannot answer this request", where=request.url, fix=TRY_AGAIN) from None

    def _exchange(self, request: HubRequest, headers: Mapping[str, str], left_s: float, deadline_s: float) -> Reply:
        session = import_module("huggingface_hub.utils").get_session()
        params = dict(request.params) or None
        with session.stream(request.method, request.url, params=params, headers=headers, timeout=left_s) as response:
            body = b"" if request.method == "HEAD" else self._read(response, request, deadline_s)
            reply_headers = {name.lower(): value for name, value in response.headers.items()}
            return Reply(
                status=response.status_code, headers=reply_headers, body=body, url=str(response.url).partition("?")[0]
            )

    def _read(self, response: Any, request: HubRequest, deadline_s: float) -> bytes:
        """Return the body, as far as it is wanted; one that drips in is given up in time."""
        parts, size = list[bytes](), 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if request.first is not None and size >= request.first:
                return b"".join(parts)[: request.first]
            if size > LARGEST:
                raise SourceError(f"{_who(request)} answered more than can be read", where=request.url, fix=TRY_AGAIN)
            if time.monotonic() > deadline_s:
                raise self._reach.lost(request.url, f"{_who(request)} took too long")
        return b"".join(parts)


class UnsendableTokenError(SourceError):
    """The token at hand has characters that no token has: it cannot stand in a header."""


class _BrokenOffError(Exception):
    """The other side ended before its answer did."""


def _headers(request: HubRequest, token: str | None, version: str) -> Mapping[str, str]:
    """Return a request's headers.

    Raises:
        UnsendableTokenError: The token has characters that no token has.
    """
    own = {"user-agent": f"holdfast; hf_hub/{version}", **request.headers}
    if token is None or not request.signed:
        return own
    if not SECRET.fullmatch(token):
        what = "the token has characters that no token has"
        raise UnsendableTokenError(what, where="HF_TOKEN", fix="set it to the token itself, or `hf auth login`")
    return {**own, "authorization": f"Bearer {token}"}


def http_library() -> ModuleType:
    """Return the HTTP library that huggingface_hub rests on: httpx to 1.x, httpx2 from 2.0 on."""
    origin: str = import_module("huggingface_hub.errors").HTTPError.__module__
    return import_module(origin.partition(".")[0])


def _wait_s(reply: Reply) -> float | None:
    """Return after how many seconds to ask once more; None if that is not worth it."""
    if reply.status not in COME_BACK:
        return None
    limits = USED_UP.search(reply.headers.get("ratelimit", "")) if reply.status == TOO_MANY else None
    delay = limits["reset"] if limits else reply.headers.get("retry-after", "").strip()
    return float(delay) if delay.isdecimal() and float(delay) <= SOON_S else None


def _who(request: HubRequest) -> str:
    return "the Hub" if request.signed else "the host"


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _advice(status: int) -> str:
    if status == 401:  # noqa: PLR2004 - as HTTP has it
        return "give a valid token: `hf auth login`, or HF_TOKEN"
    return TRY_AGAIN


def _is_of_tls(error: BaseException | None) -> bool:
    """True if the host was reached, and no encrypted connection was made."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
