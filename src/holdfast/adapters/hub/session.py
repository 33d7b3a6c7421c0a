"""Asking for one check: what its questions share, which is the address, the token, what is known already, and the time that is left."""

import time
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar
from urllib.parse import quote

from holdfast.adapters.hub.answers import TOO_LONG, ResponseCache, start, together, wait
from holdfast.adapters.hub.settings import HubSettings
from holdfast.adapters.hub.wire import TRY_AGAIN, CircuitBreaker, HubRequest, HubTransport, Reply
from holdfast.core.check.hub import RepoKind
from holdfast.core.errors import SourceError

T = TypeVar("T")
REFUSED: Final = "the Hub refuses the token"
INVALID: Final = "invalid credentials"
"""How the Hub begins to say, in whatever letters, that a token is none; it then answers nothing at all."""
UNAUTHORIZED: Final = 401
PREFIX: Final[dict[RepoKind, str]] = {"model": "", "dataset": "datasets/", "space": "spaces/"}
"""Before a repository's name, where its files are."""


class TokenRefusedError(SourceError):
    """The token at hand is not one of the Hub's."""


class HubSession:
    """One check's way to the Hub. The clock starts with the first question."""

    def __init__(self, settings: HubSettings, answers: ResponseCache, reach: CircuitBreaker) -> None:
        """Take how the Hub is contacted, and what this process knows of it."""
        self.settings = settings
        self._answers = answers
        self._wire = HubTransport(reach, patience_s=settings.timeout_s / 2)
        self._deadline_s = 0.0

    @property
    def deadline_s(self) -> float:
        """When it is too late, on the monotonic clock."""
        if not self._deadline_s:
            self._deadline_s = time.monotonic() + self.settings.timeout_s
        return self._deadline_s

    def once(self, question: Hashable, work: Callable[[], T]) -> T:
        """Return the answer to a question, which is asked unless this process knows it.

        Args:
            question: What tells it from all others of this Hub and this token.
            work: Asks.

        Raises:
            SourceError: There is no answer, or not in time.
        """
        deadline_s, limit_s = self.deadline_s, self.settings.timeout_s
        if time.monotonic() >= deadline_s:
            raise SourceError(TOO_LONG.format(seconds=limit_s), where="the Hub", fix=TRY_AGAIN)
        key = (self.settings.endpoint, self.settings.viewer, self.token(), question)
        return wait(self._answers.find(key, work), deadline_s, limit_s)

    def together(self, *works: Callable[[], Any]) -> list[Any]:
        """Do several things at once, and return the result of each: a SourceError where there is none."""
        return together(works, self.deadline_s, self.settings.timeout_s)

    def begin(self, work: Callable[[], T]) -> Callable[[], T]:
        """Do something meanwhile, and return what waits for its result."""
        result = start(work)
        return lambda: wait(result, self.deadline_s, self.settings.timeout_s)

    def token(self) -> str | None:
        """Return the token at hand, None if there is none.

        Raises:
            SourceError: It would have to be renewed, which did not succeed.
        """
        found = self._answers.find(("token", self.settings.find_token), self.settings.find_token)
        return wait(found, self.deadline_s, self.settings.timeout_s)

    def ask(self, request: HubRequest) -> Reply:
        """Return the answer to one request, whatever its status.

        Raises:
            TokenRefusedError: The token is not valid.
            SourceError: There is none, or not in time.
        """
        reply = self._wire.send(request, self.token() if request.signed else None, self.deadline_s)
        if request.signed and _refuses(reply):
            raise TokenRefusedError(REFUSED, where=self.settings.endpoint, fix="`hf auth login`, or another HF_TOKEN")
        return reply

    def api(self, path: str, **params: str) -> Reply:
        """Return the reply of the Hub's API."""
        return self.ask(HubRequest(url=f"{self.settings.endpoint}/api/{path}", params=params))

    def file(self, repo: tuple[RepoKind, str, str], path: str, *, first: int | None = None, after: int = 0) -> Reply:
        """Return a file of a repository, or some of its bytes.

        Args:
            repo: Kind, name and revision.
            path: Of the file.
            first: How many bytes are wanted; all where it is None.
            after: How many bytes are passed over before them.
        """
        kind, name, revision = repo
        url = f"{self.settings.endpoint}/{PREFIX[kind]}{name}/resolve/{quote(revision, safe='')}/{quote(path)}"
        headers = {"range": f"bytes={after}-{after + first - 1}"} if first is not None else dict[str, str]()
        # Compressed bytes could not be counted.
        return self.ask(HubRequest(url=url, headers={"accept-encoding": "identity", **headers}, first=first))


def _refuses(reply: Reply) -> bool:
    message = f"{reply.headers.get('x-error-message', '')} {reply.body[:1000].decode(errors='replace')}"
    return reply.status == UNAUTHORIZED and INVALID in message.lower()
