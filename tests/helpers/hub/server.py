"""The listening, and all that a test holds in its hand.

Two `http.server`s of the standard library, with a thread for each connection: they start in about a millisecond (uvicorn alone takes a tenth of a second
to import), a test can end a connection at any byte, and silence is a thread that waits.
"""

import re
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from socketserver import TCPServer
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

from tests.helpers.hub import faults, routes
from tests.helpers.hub.exchange import CutError, HubError, Reply, Request
from tests.helpers.hub.faults import Fault, Faults
from tests.helpers.hub.jobs import lifecycle
from tests.helpers.hub.world import World

LOOPBACK = "127.0.0.1"
UNHURRIED = {"RateLimit": '"api";r=999;t=300', "RateLimit-Policy": '"fixed window";"api";q=1000;w=300'}
POLL_S = 0.02  # how long the end of a test waits for a listener to notice


class LoopbackHub(World):
    """A Hub, with the user `me` whose token may write.

    Attributes:
        latency_s: Added to each answer; several connections wait at the same time.
        token: In `variables`; None for a process without.
        faults: What goes wrong.
        failures: Tracebacks of this Hub's own mistakes; any of them fails the test.
    """

    def __init__(self, latency_s: float, home: str) -> None:
        super().__init__()
        self.latency_s = latency_s
        self.home = home
        self.faults = Faults()
        self.failures: list[str] = []
        self.add_user("me")
        self.token: str | None = self.add_token("hf_me_write").text
        self._numbers = count(1)
        self._listeners = [Listener(self, outside=False), Listener(self, outside=True)]
        self.address, self.outside = (f"http://{LOOPBACK}:{one.server_port}" for one in self._listeners)
        told = ("HF_ENDPOINT", "HOLDFAST_VIEWER", "HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "no_proxy")
        self.jobs.network = {name: self.variables[name] for name in told}

    @property
    def viewer(self) -> str:
        """Address of the dataset viewer."""
        return self.outside

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs to know to take this for the Hub, with caches of its own."""
        return {
            "HF_ENDPOINT": self.address,
            "HOLDFAST_VIEWER": self.viewer,
            "HF_TOKEN": self.token or "",
            "HUGGING_FACE_HUB_TOKEN": "",
            "HF_HOME": self.home,
            "HF_HUB_CACHE": f"{self.home}/hub",
            "HF_DATASETS_CACHE": f"{self.home}/datasets",
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "no_proxy": "*",
        }

    def asked(self, pattern: str) -> list[Request]:
        """Return the requests in whose line (`GET /api/models/acme/small?blobs=True`) a regular expression is found."""
        return [request for request in self.requests if re.search(pattern, request.told)]

    def fail(
        self,
        pattern: str,
        *,
        status: int,
        times: int | None = None,
        message: str = "",
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse requests.

        Args:
            pattern: Which, by a regular expression: `/api/models/`, `^POST .*/commit/`.
            status: 429, 500, 503, 403.
            times: How often; None for ever.
            message: In `X-Error-Message` and the body.
            code: In `X-Error-Code`.
            headers: Beside those, `{"Retry-After": "1"}`.
        """
        refused = faults.refusal(status, message=message, code=code, headers=headers)
        self.faults.add(Fault(pattern=re.compile(pattern), kind="fail", left=times, refusal=refused))

    def slow(self, pattern: str, seconds: float, *, times: int | None = None) -> None:
        """Answer requests late."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="slow", left=times, seconds=seconds))

    def hang(self, pattern: str, *, times: int | None = None) -> None:
        """Never answer requests; their connections stay open until the test ends."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="hang", left=times))

    def break_off(self, pattern: str, after_bytes: int, *, times: int | None = 1) -> None:
        """End connections when so many bytes of the body are sent, having told of all."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="break", left=times, after_bytes=after_bytes))

    def cut(self, pattern: str, *, times: int | None = None) -> None:
        """End connections without an answer."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="cut", left=times))

    def mute(self, pattern: str, *, times: int | None = 1) -> None:
        """Do what requests ask for, and end their connections without an answer: a job that was submitted, and nobody knows."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="mute", left=times))

    def truncate(self, pattern: str, after_bytes: int, *, times: int | None = 1) -> None:
        """Answer with a part of the body as if that were all: JSON that ends in the middle."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="truncate", left=times, after_bytes=after_bytes))

    def refuse_commits(self, pattern: str = "", *, times: int | None = None) -> None:
        """Refuse commits, with 403, as for a token that was taken back; `pattern` says to which repositories."""
        refused = faults.refusal(403, message="Authorization error.")
        self.faults.add(
            Fault(pattern=re.compile(rf"^POST .*{pattern}.*/commit/"), kind="fail", left=times, refusal=refused)
        )

    def lose(self, *endings: str) -> None:
        """Take commits and forget the files whose names end so."""
        self.lost = endings

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        self.faults.clear()
        self.lost = ()
        self.jobs.heal()
        self.clock.skew_s = 0.0
        self.clock.stir()

    def revoke(self, token: str) -> None:
        """Take a token back: whatever comes with it is 401 from now on."""
        del self.accounts.tokens[token]

    def answer(self, request: Request) -> Reply:
        """Return what is said to a request; a mistake of this Hub is kept and told as 500."""
        try:
            with self.lock:
                return routes.answer(self, request)
        except Exception:  # noqa: BLE001 - any mistake, which `loopback_hub` raises at the end
            self.failures.append(f"{request.told}\n{traceback.format_exc()}")
            return HubError(500, "A mistake of the loopback Hub").reply()

    def request_id(self) -> str:
        """Return the next request's number, in the shape of the Hub's."""
        return f"Root=1-00000000-{next(self._numbers):024x}"

    def start(self) -> None:
        for listener in self._listeners:
            Thread(target=listener.serve_forever, args=(POLL_S,), daemon=True).start()

    def close(self) -> None:
        """End all jobs, and all connections, also those that wait."""
        lifecycle.end_all(self)
        ending = [Thread(target=listener.shutdown) for listener in self._listeners]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        for listener in self._listeners:
            listener.end_connections()
            listener.server_close()


@contextmanager
def loopback_hub(*, latency_s: float = 0.0) -> Iterator[LoopbackHub]:
    """Run a Hub for as long as it is needed.

    Args:
        latency_s: Added to each answer, for benchmarks.

    Raises:
        AssertionError: This Hub made a mistake; nothing that a client may send should bring it to that.
    """
    with TemporaryDirectory(prefix="hub-", ignore_cleanup_errors=True) as home:
        hub = LoopbackHub(latency_s, home)
        hub.start()
        try:
            yield hub
        finally:
            hub.close()
    assert not hub.failures, "\n".join(hub.failures)


class Listener(ThreadingHTTPServer):
    """One port."""

    daemon_threads = False  # so that closing waits for them; they all end at once when their connections do
    request_queue_size = 128

    def __init__(self, hub: LoopbackHub, *, outside: bool) -> None:
        self.hub = hub
        self.outside = outside
        self.open: set[socket.socket] = set()
        super().__init__((LOOPBACK, 0), Connection)

    def server_bind(self) -> None:
        """Take a port. HTTPServer would also look up this machine's name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - socketserver's signature
        """Keep what is this Hub's own mistake; a client that goes away is none."""
        if not isinstance(sys.exception(), OSError):
            self.hub.failures.append(traceback.format_exc())


class Connection(BaseHTTPRequestHandler):
    """Serves one connection, which is kept for more requests."""

    server: Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def _serve(self) -> None:
        hub, request = self.server.hub, self._read()
        hub.requests.append(request)
        befallen = {fault.kind: fault for fault in hub.faults.take(request)}
        late_s = hub.latency_s + (befallen["slow"].seconds if "slow" in befallen else 0.0)
        if (late_s and hub.closing.wait(late_s)) or ("hang" in befallen and hub.closing.wait()) or "cut" in befallen:
            self.close_connection = True
            return
        failed = befallen.get("fail")
        reply = failed.refusal.reply() if failed and failed.refusal else hub.answer(request)
        if "mute" in befallen:
            self.close_connection = True
            return
        request.answered = reply.status
        if "truncate" in befallen:
            reply = replace(reply, body=reply.body[: befallen["truncate"].after_bytes])
        self._write(reply, befallen.get("break"))

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - http.server's names

    def _read(self) -> Request:
        path, _, query = self.path.partition("?")
        return Request(
            method=self.command,
            path=path,
            query=tuple(parse_qsl(query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self._body(),
            outside=self.server.outside,
        )

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self._line().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _line(self) -> bytes:
        line = self.rfile.readline()
        if not line:
            raise ConnectionAbortedError
        return line

    def _write(self, reply: Reply, broken: Fault | None) -> None:
        self.send_response(reply.status)
        sent = {"X-Request-Id": self.server.hub.request_id(), **UNHURRIED} | dict(reply.headers)
        for name, value in sent.items():
            self.send_header(name, value.encode("ascii", "replace").decode())
        if reply.stream is not None:
            self.send_header("Transfer-Encoding", "chunked")
        elif reply.status != 204:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if reply.stream is not None:
            self._write_stream(reply.stream, broken)
        elif self.command != "HEAD":
            self.wfile.write(reply.body[: broken.after_bytes] if broken else reply.body)
        self.wfile.flush()
        self.close_connection = self.close_connection or broken is not None

    def _write_stream(self, pieces: Iterator[bytes], broken: Fault | None) -> None:
        self.wfile.flush()
        left = broken.after_bytes if broken else sys.maxsize
        with suppress(CutError):
            for piece in pieces:
                part = piece[:left]
                left -= len(part)
                if part:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    self.wfile.flush()
                if not left:
                    break
            else:
                self.wfile.write(b"0\r\n\r\n")
                return
        self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(self.server.hub.clock.told_s if timestamp is None else timestamp)

    def version_string(self) -> str:
        return "huggingface-loopback"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
