"""Guards: no network but reads from the Hub, no write outside the rehearsal's folder, no question to a person, no message to anyone.

* `files`     what is written       * `children`  programs that the script starts
* `trackers`  wandb and its like    * `shell_lines`  lines of the shell in a notebook
* here: the network, people, ways to leave, waiting

They see what calls Python's functions, and say in words what they keep it from. What passes them by is held by `sandbox`, where
the kernel gives one.

The script stays in its own folder. Handlers of signals that it sets itself stay.
"""

import builtins
import errno
import getpass
import io
import os
import re
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..sandbox.gate import connect, is_served, look_up
from ..sandbox.reach import hosts, is_allowed, is_local, is_read
from ..wrapping import when_imported, wrap
from . import children, files, shell_lines, trackers

REQUEST = re.compile(rb"(POST|PUT|PATCH|DELETE) ")
LONGEST_METHOD = 8
LONGEST_SLEEP_S = 1.0
EVERY = -1
"""The id that stands for every process that may be sent a signal."""
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
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


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Guard the process of a script."""
    files.install(part_request, events)
    guard_network(part_request, events)
    os.environ["HF_UPDATE_DOWNLOAD_COUNTS"] = "0"  # which datasets asks of another host
    when_imported("datasets.config", lambda module: setattr(module, "HF_UPDATE_DOWNLOAD_COUNTS", False))
    guard_people(events)
    guard_exits(events)
    guard_parent(events)
    guard_waiting(own_lines(part_request), events)
    children.install(part_request, events)
    shell_lines.install(part_request, events)
    trackers.install(events)


def own_lines(part_request: PartRequest) -> Callable[[FrameType], bool]:
    """Return a predicate that is true of frames of the script, or of a module beside it."""
    script = str(Path(part_request.script).absolute())
    folder = f"{Path.cwd() if part_request.module else Path(script).parent}/"
    homes = tuple(f"{each}/" for each in {sys.prefix, sys.base_prefix} if not script.startswith(f"{each}/"))

    def own(frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        if name in (part_request.script, script):
            return True
        return name.startswith(folder) and "/site-packages/" not in name and not (homes and name.startswith(homes))

    return own


def guard_network(part_request: PartRequest, events: EventWriter) -> None:
    """Refuse connections to anything but the Hub, the proxies on the way to it, and this machine."""
    network = Network(hosts(os.environ, offline=part_request.offline), events, part_request.port)
    wrap(socket, "getaddrinfo", network.look_up)
    wrap(socket, "gethostbyname", network.look_up_one)
    wrap(socket.socket, "connect", network.connect)
    wrap(socket.socket, "connect_ex", network.connect_ex)
    when_imported("ssl", network.watch_encrypted)


class Network:
    """Hosts that may be contacted, and their addresses as they become known.

    Args:
        allowed: The hosts.
        events: Told of others.
        gate: The port at which a sandbox has its way to the network; 0: there is no sandbox.
    """

    def __init__(self, allowed: tuple[str, ...], events: EventWriter, gate: int) -> None:
        self._allowed, self._events, self._gate = allowed, events, gate
        self._numbers: set[str] = set()

    def look_up(self, original: Any, host: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the addresses of a host. Raises OutOfReachError if it may not be contacted."""
        name = os.fsdecode(host) if host else ""
        self._check(name)
        if self._gate and not is_local(name):
            found = look_up(self._gate, name, *args, **kwargs)
        else:
            found = original("localhost" if self._gate and name == socket.gethostname() else host, *args, **kwargs)
        self._numbers.update(str(each[4][0]) for each in found)
        return found

    def look_up_one(self, _original: Any, host: Any) -> Any:
        """Return the first address of a host. Raises OutOfReachError if it may not be contacted."""
        return socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0]

    def connect(self, original: Any, connection: Any, address: Any) -> Any:
        """Connect. Raises OutOfReachError if the other side may not be contacted."""
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return original(connection, address)
        host, port = str(address[0]), address[1]
        if host not in self._numbers:
            self._check(host)
        if self._gate and connection.type == socket.SOCK_STREAM and not (is_local(host) and is_served(port)):
            return connect(connection, self._gate, host, port)
        return original(connection, address)

    def connect_ex(self, original: Any, connection: Any, address: Any) -> int:
        """Connect; return the number of the error. Raises OutOfReachError if the other side may not be contacted."""
        try:
            return int(self.connect(original, connection, address) or 0)
        except OutOfReachError:
            raise
        except OSError as error:
            return error.errno or errno.EIO

    def watch_encrypted(self, ssl: Any) -> None:
        """Refuse to encrypt requests that write: nothing else can read them."""
        for kind, name in ((ssl.SSLSocket, "send"), (ssl.SSLSocket, "sendall"), (ssl.SSLObject, "write")):
            wrap(kind, name, self._send)

    def _send(self, original: Any, connection: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        host = connection.server_hostname or ""
        head = REQUEST.match(bytes(memoryview(data)[:LONGEST_METHOD]))
        if (
            head
            and not is_local(host)
            and not is_read(head[1].decode(), bytes(data).split(b" ", 2)[1].decode("latin-1"))
        ):
            self._events.not_rehearsed(f"{head[1].decode()} requests to {host}", "running it: a rehearsal only reads")
            raise self._out_of_reach(f"the rehearsal sends nothing to {host}: it only reads from the Hub")
        return original(connection, data, *args, **kwargs)

    def _check(self, host: str) -> None:
        if not is_allowed(host, self._allowed):
            because = "a machine where it may be asked: a rehearsal only reads from the Hub"
            self._events.not_rehearsed(f"connections to {host}", because, host=host)
            raise self._out_of_reach(f"the rehearsal does not connect to {host}: it only reads from the Hub")

    def _out_of_reach(self, because: str) -> OutOfReachError:
        self._events.out_of_reach(because)
        return OutOfReachError(because)


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
    """Report programs that the script would become, which it does not, and of exits that skip everything."""

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


def guard_parent(events: EventWriter) -> None:
    """Report a signal that ends the process that started the script, in place of sending it: in a run, that process watches the training."""

    def kill(original: Any, pid: int, number: int) -> None:
        if os.getpid() == own and pid in (parent, EVERY) and number in ENDING:
            because = (
                f"the script sends {signal.Signals(number).name} to the process that started it, which watches a run"
            )
            events.fault("user-code-error", events.stage, because, fix="End the script by `sys.exit()`.")
            return
        original(pid, number)

    def kill_group(original: Any, group: int, number: int) -> None:
        if group not in (0, os.getpgid(0)):
            kill(original, group, number)
        else:
            original(group, number)

    own, parent = os.getpid(), os.getppid()
    wrap(os, "kill", kill)
    wrap(os, "killpg", kill_group)


def guard_waiting(own: Callable[[FrameType], bool], events: EventWriter) -> None:
    """Shorten what the script itself sleeps."""

    def sleep(original: Any, seconds: float) -> None:
        if seconds > LONGEST_SLEEP_S and own(sys._getframe(2)):
            events.shrunk("time.sleep", seconds, LONGEST_SLEEP_S)
            seconds = LONGEST_SLEEP_S
        original(seconds)

    wrap(time, "sleep", sleep)
