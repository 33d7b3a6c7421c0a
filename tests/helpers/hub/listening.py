"""The listening: two `http.server`s of the standard library, with a thread for each connection.

They start in about a millisecond (uvicorn alone takes a tenth of a second to import), a test can end a connection at any byte, and silence is a thread
that waits.
"""

import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.helpers.hub.exchange import CutError, Reply, Request
from tests.helpers.hub.faults import Fault

if TYPE_CHECKING:
    from tests.helpers.hub.server import LoopbackHub

LOOPBACK = "127.0.0.1"
UNHURRIED = {"RateLimit": '"api";r=999;t=300', "RateLimit-Policy": '"fixed window";"api";q=1000;w=300'}


class Listener(ThreadingHTTPServer):
    """One port."""

    daemon_threads = False  # so that closing waits for them; they all end at once when their connections do
    request_queue_size = 128

    def __init__(self, hub: "LoopbackHub", *, outside: bool) -> None:
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
