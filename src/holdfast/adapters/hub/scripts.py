"""Scripts and job files that are named by an address: `https://…` or `hf://…`.

Covered: raw files of GitHub, of the Hub and of any other host; repositories of the Hub at a revision; pages that show a file instead of
being it. Not covered: what lies beside the file there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from shlex import quote as shell_quote
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from holdfast.adapters.hub.answers import ResponseCache
from holdfast.adapters.hub.session import PREFIX, HubSession
from holdfast.adapters.hub.settings import read_settings
from holdfast.adapters.hub.wire import TRY_AGAIN, CircuitBreaker, HubRequest, Reply
from holdfast.core.check.hub import RepoKind
from holdfast.core.errors import SourceError, UsageError

MOST_BYTES: Final = 5_000_000
COMMIT: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
HUB_FILE: Final = re.compile(
    r"hf://(?:(?P<kind>datasets|spaces|models)/)?(?P<name>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<path>.+)"
)
KINDS: Final[Mapping[str | None, RepoKind]] = {
    None: "model",
    "models": "model",
    "datasets": "dataset",
    "spaces": "space",
}
HUB_FORM: Final = "write `hf://owner/name/train.py`, `hf://datasets/owner/name@revision/train.py`"
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class FetchedScript:
    """A file that was fetched.

    Attributes:
        content: Its bytes.
        commit: The commit of the repository that it is from; None if that is not known.
    """

    content: bytes
    commit: str | None


def name_of(address: str) -> str:
    """Return the file's name.

    >>> name_of("https://example.org/a/my%20train.py?raw=1")
    'my train.py'
    """
    return PurePosixPath(unquote(urlsplit(address).path)).name


def commit_in(address: str) -> str | None:
    """Return the commit that an address names: what stands there never changes."""
    found = COMMIT.search(address)
    return found[0] if found else None


def fetch_script(address: str, environ: Mapping[str, str]) -> FetchedScript:
    """Fetch a file. The token goes to the Hub alone, and only with an address that begins with `hf://`.

    Raises:
        UsageError: The address is none of a file, or there is no such file.
        SourceError: It cannot be fetched.
    """
    settings = read_settings(environ)
    if address.startswith("hf://"):
        request = HubRequest(url=_hub_url(address, settings.endpoint), first=MOST_BYTES + 1)
    else:
        _require_raw(address)
        request = HubRequest(url=address, first=MOST_BYTES + 1, signed=False)
    reply = HubSession(settings, ResponseCache(), CircuitBreaker()).ask(request)
    _require_file(reply, address)
    commit = reply.headers.get("x-repo-commit") or commit_in(reply.url) or commit_in(address)
    return FetchedScript(reply.body, commit)


def _hub_url(address: str, endpoint: str) -> str:
    found = HUB_FILE.fullmatch(address)
    if not found:
        raise UsageError("the address names no file of a repository", where=address, fix=HUB_FORM)
    revision = quote(found["revision"] or "main", safe="")
    return f"{endpoint}/{PREFIX[KINDS[found['kind']]]}{found['name']}/resolve/{revision}/{quote(found['path'])}"


def _require_raw(address: str) -> None:
    """Object to a page that shows a file, and to a way on which everybody could change the file.

    Raises:
        UsageError: It is one.
    """
    split = urlsplit(address)
    if split.scheme == "http" and split.hostname not in LOOPBACK:
        what = "the address is not encrypted: anybody on the way could change the script"
        raise UsageError(what, where=address, fix=f"name {shell_quote(address.replace('http', 'https', 1))}")
    if raw := _raw_of(address):
        what = "the address is that of a page that shows the file, and not of the file"
        raise UsageError(what, where=address, fix=f"name {shell_quote(raw)}")


def _raw_of(address: str) -> str:
    """Return the address of the file that a page shows; empty if the address is not known as that of a page.

    >>> _raw_of("https://github.com/huggingface/trl/blob/main/trl/scripts/sft.py")
    'https://raw.githubusercontent.com/huggingface/trl/main/trl/scripts/sft.py'
    """
    split = urlsplit(address)
    parts = split.path.split("/")
    if split.hostname == "gist.github.com" and "raw" not in parts:
        return f"{address.rstrip('/')}/raw"
    if "blob" not in parts:
        return ""
    if split.hostname == "github.com":
        return f"https://raw.githubusercontent.com{split.path.replace('/blob/', '/', 1)}"
    return (
        f"{split.scheme}://{split.netloc}{split.path.replace('/blob/', '/resolve/', 1)}"
        if _is_hub(split.hostname)
        else ""
    )


def _is_hub(host: str | None) -> bool:
    return host in ("huggingface.co", "hf.co")


def _require_file(reply: Reply, address: str) -> None:
    """Object to an answer that is no file.

    Raises:
        UsageError: There is no such file, or a page instead.
        SourceError: It may not be read, or the host failed.
    """
    if reply.status in (404, 410):
        raise UsageError("there is no such file", where=address, fix="look at the address in a browser")
    if reply.status in (401, 403):
        fix = "`hf auth login`, or ask for access on its page; `hf://…` sends the token, `https://…` does not"
        raise SourceError(f"the file may not be read ({reply.status})", where=address, fix=fix)
    if not reply.ok:
        raise SourceError(f"the host answered {reply.status}", where=address, fix=TRY_AGAIN)
    if reply.body[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        fix = "use the address of the raw file: the `Raw` button on GitHub, `raw` on the Hub"
        raise UsageError("the address leads to a web page, not to a script", where=address, fix=fix)
    if len(reply.body) > MOST_BYTES:
        what = f"the file is larger than {MOST_BYTES // 1_000_000} MB: it is neither a script nor a job file"
        raise UsageError(what, where=address, fix="name a script (.py), a notebook (.ipynb) or a job file (.yaml)")
