"""Sends messages about a run to an address, from a thread of its own: no message ever holds up, or ends, what it is about.

Covered: services that do not answer, refuse, or cannot be reached; more messages than a slow service takes. Not covered: messages that are
not sent when the supervisor is killed.
"""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from queue import Full, Queue
from threading import Event, Thread
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from holdfast.adapters.secrets import redacted
from holdfast.core.errors import UsageError
from holdfast.core.run.notice import VARIABLE, NoticeFormat, RunNotice

LOG: Final = logging.getLogger("holdfast")
TIMEOUT_S: Final = 10.0
TRIES: Final = 3
PAUSE_S: Final = 2.0
MOST_WAITING: Final = 100
LAST_S: Final = 5.0
"""How long the end of a run waits for its last messages."""
KEY: Final = "notify.webhook"


def resolve_address(given: str, environment: Mapping[str, str]) -> str:
    """Return the address that a job gives, or that the variable has which it names.

    Raises:
        UsageError: The variable is not set, or it is no address of a web service.

    >>> resolve_address("$HOOK", {"HOOK": "https://example.org/hook"})
    'https://example.org/hook'
    """
    name = found["name"] if (found := VARIABLE.fullmatch(given)) else ""
    address = environment.get(name, "") if name else given
    if not address:
        raise UsageError(f"the variable {name} is not set", where=KEY, fix=f"export {name}=https://…")
    if not _is_web_address(address):
        what = f"{name or 'the text'} is not the address of a web service"
        raise UsageError(what, where=KEY, fix="give https://HOST/…, without a user and a password, or $NAME")
    return address


def _is_web_address(address: str) -> bool:
    """True if messages can be sent to an address; a user and a password in it are not sent, so such a one is refused."""
    with suppress(ValueError):  # a port that is no number, brackets that are not closed
        parts = urlsplit(address)
        is_plain = parts.username is None and (parts.port or 1) > 0 and address.isprintable() and " " not in address
        return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain
    return False


class Webhook:
    """Sends messages in the background.

    Args:
        address: Where to.
        style: What the service reads.
        send: Sends one message; raises OSError if it does not arrive.
    """

    def __init__(self, address: str, style: NoticeFormat, send: Callable[[str, bytes], None] | None = None) -> None:
        self._address, self._style, self._send = address, style, send or post
        self._waiting: Queue[RunNotice | None] = Queue(MOST_WAITING)
        self._over = Event()
        self._thread = Thread(target=self._work, name="holdfast-webhook", daemon=True)
        self._thread.start()

    def tell(self, notice: RunNotice) -> None:
        """Have a message sent; if too many wait, it is left out."""
        try:
            self._waiting.put_nowait(notice)
        except Full:
            LOG.warning("webhook: a message is left out, since %d others wait", MOST_WAITING)

    def close(self) -> None:
        """Wait a few seconds for the last messages."""
        try:
            self._waiting.put(None, timeout=LAST_S)
        except Full:
            return
        self._thread.join(LAST_S)
        self._over.set()

    def _work(self) -> None:
        while (notice := self._waiting.get()) is not None:
            self._try(notice)

    def _try(self, notice: RunNotice) -> None:
        body = redacted(json.dumps(notice.body(self._style))).encode()
        for number in range(TRIES):
            try:
                self._send(self._address, body)
            except (OSError, ValueError, HTTPException) as error:
                LOG.warning("webhook: %s", _describe(error))
                if _is_refusal(error) or number == TRIES - 1 or self._over.wait(PAUSE_S * 2**number):
                    return
            else:
                return


def post(address: str, body: bytes) -> None:
    """Send one message.

    Raises:
        OSError: It did not arrive.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "holdfast"}
    request = Request(address, data=body, headers=headers, method="POST")  # noqa: S310 - `resolve_address` lets http and https pass
    with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - likewise
        answer.read(1)


def _is_refusal(error: Exception) -> bool:
    """True if the service has refused a message that it would refuse again."""
    return isinstance(error, HTTPError) and error.code < 500 and error.code != 429  # noqa: PLR2004 - of HTTP


def _describe(error: Exception) -> str:
    """Return what went wrong, without the address: that may be a secret."""
    return f"HTTP {error.code}" if isinstance(error, HTTPError) else f"{type(error).__name__}"
