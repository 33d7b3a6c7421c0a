"""The server over HTTP, on this machine alone, for those who know its token."""

import secrets
import socket
from typing import Any, Final

import uvicorn
from mcp.server import Server
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.core.errors import UsageError

HOST: Final = "127.0.0.1"
GRACE_S: Final = 3
"""Seconds that calls have to end when the server is stopped."""


class RequireToken:
    """Refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or secrets.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        answer = JSONResponse({"error": "send the server's token: `Authorization: Bearer …`"}, status_code=401)
        await answer(scope, receive, send)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine.

    Raises:
        UsageError: The port is taken.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        what = f"port {port} cannot be used: {error.strerror}"
        raise UsageError(what, where="--port", fix="choose another port") from error


async def serve_http(server: Server[Any], listening: socket.socket, token: str) -> None:
    """Serve clients at `http://127.0.0.1:PORT/mcp`, which a page of a browser cannot be made to reach."""
    app = server.streamable_http_app(host=HOST)
    app.user_middleware.insert(0, Middleware(RequireToken, token=token))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_S)
    await uvicorn.Server(config).serve(sockets=[listening])
