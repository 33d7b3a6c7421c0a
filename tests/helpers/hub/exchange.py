"""One request and one reply, and errors as the Hub spells them.

Source: `hf_raise_for_status` of huggingface_hub 2.4.0 tells errors apart by the status and the headers `X-Error-Code` and `X-Error-Message`;
the body repeats the message as `{"error": ...}`. Texts as quoted in public issues of that project and of transformers.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote


@dataclass(slots=True, kw_only=True)
class Request:
    """What was asked.

    Attributes:
        method: `GET`.
        path: As sent, still quoted: a revision such as `refs%2Fpr%2F1` is one segment.
        query: Everything after the question mark, decoded; a key may come several times.
        headers: By their names in lower case.
        body: Its bytes.
        outside: Whether it was asked of the second host (large files, dataset viewer) rather than of the Hub.
        answered: With what status; 0 while it has not been, and if it never was.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    outside: bool = False
    answered: int = 0

    @property
    def segments(self) -> list[str]:
        """Parts of the path between slashes, unquoted."""
        return [unquote(part) for part in self.path.split("/") if part]

    @property
    def token(self) -> str | None:
        """The bearer token, if one was sent."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else None

    @property
    def told(self) -> str:
        """The request in one line: `GET /api/models?search=a`. Patterns of faults are looked for in it."""
        query = "&".join(f"{key}={value}" for key, value in self.query)
        return f"{self.method} {unquote(self.path)}{'?' if query else ''}{query}"

    def get(self, key: str, default: str = "") -> str:
        """Return a query parameter."""
        return dict(self.query).get(key, default)

    def all(self, key: str) -> list[str]:
        """Return every value of a query parameter, `key=a&key=b` and `key[]=a`, and comma-separated ones."""
        values = [value for name, value in self.query if name in (key, f"{key}[]")]
        return [part for value in values for part in value.split(",")]

    def says(self, key: str) -> bool:
        """True if a query parameter means yes; Python's clients send `True`, httpx `true`, people `1`."""
        return self.get(key).lower() in ("true", "1")

    def json(self) -> Any:
        """Return the body's JSON. Raises HubError if it is none."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise HubError(400, f"Invalid JSON: {error}") from error

    def form(self) -> list[tuple[str, str]]:
        """Return the fields of a body that is a form."""
        return parse_qsl(self.body.decode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered.

    Attributes:
        status: HTTP status.
        body: Its bytes; they are counted and left out in answer to HEAD.
        headers: Beside those that every answer has.
        stream: The body bit by bit instead, without a length.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stream: Iterator[bytes] | None = None


class CutError(Exception):
    """A stream that ends without an end: the connection is gone."""


class HubError(Exception):
    """A refusal: raised anywhere, answered as it is."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str = "",
        *,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message} | dict(more or {})
        self.headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {}) | dict(headers or {})

    def reply(self) -> Reply:
        """Return the answer."""
        return as_json(self.body, self.status, self.headers)


class MovedError(Exception):
    """A repository that has another name now."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply that carries a value."""
    told = {"Content-Type": "application/json; charset=utf-8"} | dict(headers or {})
    return Reply(status=status, body=json.dumps(value).encode(), headers=told)


def redirect(location: str, status: int, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a redirection; the Hub sends 307 to its own addresses (relative ones) and 302 to where large files are."""
    body = f"Redirecting to {location}".encode()
    return Reply(
        status=status, body=body, headers={"Content-Type": "text/plain", "Location": location} | dict(headers or {})
    )


def unseen(*, known: bool) -> HubError:
    """Return what is said of a repository that this token does not see: without a token, 401 as if to log in would help.

    The real Hub sends no code with that 401; huggingface_hub takes it for RepoNotFound by the address, which has to begin with `https`. The code makes
    it do the same here.
    """
    if known:
        return HubError(404, "Repository not found", "RepoNotFound")
    return HubError(401, "Invalid username or password.", "RepoNotFound")


def no_page() -> HubError:
    """Return what is said of an address that the Hub does not have."""
    return HubError(404, "Sorry, we can't find the page you are looking for.")
