"""Guards: no network but reads from the Hub, no write outside the rehearsal's folder, nobody is asked, nobody is told.

* `files`     what is written       * `children`  programs that the script starts
* `trackers`  wandb and its like    * `shell_lines`  lines of the shell in a notebook
* here: the network, people, ways to leave, waiting

The script stays in its own folder. Handlers of signals that it sets itself stay.
"""

import builtins
import getpass
import io
import os
import socket
import sys
import time
import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from ..events import EventWriter
from ..order import PartRequest
from ..wrapping import when_imported, wrap
from . import children, files, shell_lines, trackers

LOOPBACK = ("localhost", "127.", "::1", "0.0.0.0")  # noqa: S104 - nothing is bound to it
SIBLINGS = ("hf.co",)
"""Where the Hub sends those who ask for large files, beside hosts of its own name."""
LONGEST_SLEEP_S = 1.0
HERE = str(Path(__file__).parent.parent)
LOGINS = {
    "wandb": "wandb",
    "huggingface_hub": "the Hub",
    "comet_ml": "Comet",
    "swanlab": "SwanLab",
    "neptune": "Neptune",
}


class OutOfReachError(ConnectionError):
    """A rehearsal reaches nothing but the Hub."""


def install(order: PartRequest, events: EventWriter) -> None:
    """Guard the process of a script."""
    files.install(order, events)
    guard_network(order, events)
    os.environ["HF_UPDATE_DOWNLOAD_COUNTS"] = "0"  # which datasets asks of another host
    when_imported("datasets.config", lambda module: setattr(module, "HF_UPDATE_DOWNLOAD_COUNTS", False))
    guard_people(events)
    guard_exits(events)
    guard_waiting(own_lines(order), events)
    children.install(order, events)
    shell_lines.install(order, events)
    trackers.install(events)


def own_lines(order: PartRequest) -> Callable[[FrameType], bool]:
    """Return a predicate that is true of frames of the script, or of a module beside it."""
    script = str(Path(order.script).absolute())
    folder = f"{Path.cwd() if order.module else Path(script).parent}/"
    homes = tuple(f"{each}/" for each in {sys.prefix, sys.base_prefix} if not script.startswith(f"{each}/"))

    def own(frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        if name in (order.script, script):
            return True
        return name.startswith(folder) and "/site-packages/" not in name and not (homes and name.startswith(homes))

    return own


def guard_network(order: PartRequest, events: EventWriter) -> None:
    """Refuse connections to anything but the Hub, the proxies on the way to it, and this machine."""
    network = Network(hosts(order), events)
    wrap(socket, "getaddrinfo", network.look_up)
    wrap(socket, "gethostbyname", network.look_up)
    for name in ("connect", "connect_ex"):
        wrap(socket.socket, name, network.connect)


class Network:
    """Hosts that may be asked, and their addresses as they become known."""

    def __init__(self, allowed: tuple[str, ...], events: EventWriter) -> None:
        self._allowed, self._events = allowed, events
        self._numbers: set[str] = set()

    def look_up(self, original: Any, host: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the addresses of a host. Raises OutOfReachError if it may not be asked."""
        self._check(os.fsdecode(host) if host else "")
        found = original(host, *args, **kwargs)
        self._numbers.update([found] if isinstance(found, str) else [str(each[4][0]) for each in found])
        return found

    def connect(self, original: Any, connection: Any, address: Any) -> Any:
        """Connect. Raises OutOfReachError if the other side may not be asked."""
        if connection.family in (socket.AF_INET, socket.AF_INET6) and str(address[0]) not in self._numbers:
            self._check(str(address[0]))
        return original(connection, address)

    def _check(self, host: str) -> None:
        if not is_allowed(host, self._allowed):
            because = "a machine where it may be asked: a rehearsal only reads from the Hub"
            self._events.not_rehearsed(f"connections to {host}", because)
            raise OutOfReachError(f"the rehearsal does not connect to {host}: it only reads from the Hub")


def hosts(order: PartRequest) -> tuple[str, ...]:
    """Return the hosts that may be asked: the Hub's, those below its domain, and proxies."""
    proxies = tuple(urlsplit(each).hostname or "" for each in urllib.request.getproxies().values() if "//" in each)
    if order.offline:
        return ()
    endpoint = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname or ""
    return (endpoint, ".".join(endpoint.split(".")[-2:]), *SIBLINGS, *proxies)


def is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Whether a host may be asked.

    >>> is_allowed("cdn-lfs.huggingface.co", ("huggingface.co",)), is_allowed("example.org", ("huggingface.co",))
    (True, False)
    """
    if not host or host.startswith(LOOPBACK) or host == socket.gethostname():
        return True
    return any(host == each or host.endswith(f".{each}") for each in allowed if each)


class StandardInput(io.FileIO):
    """Standard input, which tells that a script reads it and finds nothing there."""

    def __init__(self, events: EventWriter) -> None:
        super().__init__(0, closefd=False)
        self._events, self._given = events, False

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes there were."""
        return self._noted(super().readinto(buffer) or 0)

    def readall(self) -> bytes:
        """Return all that is left."""
        read = super().readall() or b""
        self._noted(len(read))
        return read

    def _noted(self, number: int) -> int:
        self._given = self._given or bool(number)
        if not self._given:
            self._events.fact("stdin")
            self._events.not_rehearsed("what the script reads from standard input", "a start that is given some")
        return number


def guard_people(events: EventWriter) -> None:
    """Answer for nobody: what waits for a person ends as it does where there is no terminal."""

    def nobody(_original: Any, prompt: Any = "", *_: Any, **__: Any) -> str:
        tracker = _caller(sys._getframe(2))
        if tracker:
            raise EOFError(
                f"api_key not configured (no-tty): {tracker} asks for a login, which a rehearsal cannot answer"
            )
        raise EOFError(f"EOF when reading a line: the script waits for a person to answer {str(prompt)!r}")

    if sys.stdin is not None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(StandardInput(events)), encoding="utf-8")
    wrap(builtins, "input", nobody)
    wrap(getpass, "getpass", nobody)
    for name in ("open", "open_new", "open_new_tab"):
        wrap(webbrowser, name, lambda *_, **__: True)

    def skip(*_: Any, **__: Any) -> None:
        events.not_rehearsed("a stop in the debugger", "a terminal")

    sys.breakpointhook = skip
    when_imported("pdb", lambda module: wrap(module, "set_trace", skip))
    when_imported("matplotlib.pyplot", lambda module: wrap(module, "show", lambda *_, **__: None))
    os.environ.setdefault("MPLBACKEND", "agg")


def _caller(frame: FrameType | None) -> str:
    """Return the tracker or Hub whose login asks, by the frames that lead to the question."""
    while frame is not None:
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top in LOGINS:
            return LOGINS[top]
        frame = frame.f_back
    return ""


def guard_exits(events: EventWriter) -> None:
    """Tell of programs that the script would become, which it does not, and of exits that skip everything."""

    def become(_original: Any, *args: Any, **_: Any) -> None:
        words = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else args
        line = " ".join(str(each) for each in words)
        events.not_rehearsed(f"becoming `{line}`"[:200], "a rehearsal of that program itself")
        raise SystemExit(0)

    def leave(original: Any, code: int) -> None:
        if os.getpid() == own and not sys._getframe(2).f_code.co_filename.startswith(HERE):
            events.fact("os._exit", code=code)
            events.close()
            sys.stdout.flush()
        original(code)

    own = os.getpid()
    for name in ("execv", "execve"):  # which the others call
        wrap(os, name, become)
    wrap(os, "_exit", leave)


def guard_waiting(own: Callable[[FrameType], bool], events: EventWriter) -> None:
    """Shorten what the script itself sleeps."""

    def sleep(original: Any, seconds: float) -> None:
        if seconds > LONGEST_SLEEP_S and own(sys._getframe(2)):
            events.shrunk("time.sleep", seconds, LONGEST_SLEEP_S)
            seconds = LONGEST_SLEEP_S
        original(seconds)

    wrap(time, "sleep", sleep)
