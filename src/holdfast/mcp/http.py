"""The server over HTTP, on this machine alone, for those who know its token."""

import secrets
from typing import Any, Final

import uvicorn
from mcp.server import Server
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"


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


async def serve_http(server: Server[Any], port: int, token: str) -> None:
    """Serve clients at `http://127.0.0.1:PORT/mcp`, which a page of a browser cannot be made to reach."""
    app = server.streamable_http_app(host=HOST)
    app.user_middleware.insert(0, Middleware(RequireToken, token=token))
    await uvicorn.Server(uvicorn.Config(app, host=HOST, port=port, log_level="warning")).serve()
