"""Serving the verbs until the client, or the person who started it, ends it."""

import signal
import socket
from pathlib import Path
from typing import Any

import anyio
from mcp.server import Server

from holdfast.mcp.confirmations import Confirmations
from holdfast.mcp.server import VerbServer, serve_stdio


def make_server(folder: str, *, allow_push: bool, allow_usd: float) -> Server[Any]:
    """Return a server whose relative paths start at a folder.

    Args:
        folder: The folder.
        allow_push: Let runs push to the Hub without asking.
        allow_usd: Let runs that may cost no more than this, all together, start without asking.
    """
    confirmations = Confirmations(allow_push=allow_push, allow_usd=allow_usd)
    return VerbServer(str(Path(folder).absolute()), confirmations).make()


def serve_standard_streams(server: Server[Any]) -> None:
    """Serve one client over standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # reading standard input cannot be interrupted otherwise
    anyio.run(serve_stdio, server)


def serve_socket(server: Server[Any], listening: socket.socket, token: str) -> None:
    """Serve clients over HTTP that know a token."""
    from holdfast.mcp.http import serve_http  # with uvicorn, which standard streams need not

    anyio.run(serve_http, server, listening, token)
