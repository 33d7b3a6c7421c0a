"""The gate of sandboxes: answers from outside what the guards let a rehearsed script ask of the network.

Covered: the Hub and the proxies on the way to it, reads alone where they are not encrypted; services of this machine. Not
covered: that an encrypted request only reads, which the guards in Python hold.
"""

import asyncio
import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, Self
from urllib.parse import urlsplit

from holdfast.payload.rehearsal.reach import hosts, hub_endpoint, is_allowed, is_local, is_read, proxies

NAME: Final = "gate"
CHUNK: Final = 1 << 16
REFUSED: Final = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PORTS: Final = {"http": 80, "https": 443}


class Gate:
    """Answers in a thread of its own until it is closed.

    Args:
        folder: Where its socket lies.
        variables: The environment of the scripts.
    """

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.path = str(folder / NAME)
        self._variables = variables
        addresses = map(urlsplit, [hub_endpoint(variables), *proxies(variables)])
        self._watched = {(_named(each.hostname or ""), each.port or PORTS.get(each.scheme)) for each in addresses}
        self._known = set[str]()
        self._tasks = set[asyncio.Task[None]]()
        self._loop = asyncio.new_event_loop()
        self._listener = _listen(folder)
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._begin(self._welcome())
        self._loop.run_forever()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _welcome(self) -> None:
        """Take up each sandbox that asks for a way out."""
        while True:
            sandbox, _ = await self._loop.sock_accept(self._listener)
            self._begin(self._serve(sandbox))

    async def _serve(self, sandbox: socket.socket) -> None:
        """Answer at the port of a sandbox until its last process has ended."""
        with sandbox:
            sandbox.setblocking(True)
            kind, (port, *_), _, _ = socket.recv_fds(sandbox, CHUNK, 1)
            sandbox.setblocking(False)
            allowed = hosts(self._variables, offline=kind == b"offline")

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    await self._answer(reader, writer, allowed)
                writer.close()

            server = await asyncio.start_server(answer, sock=socket.socket(fileno=port))
            async with server:
                await self._loop.sock_recv(sandbox, 1)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allowed: tuple[str, ...]
    ) -> None:
        question = json.loads(await reader.readline())
        try:
            if "look_up" in question:
                answer: Any = await self._look_up(question["look_up"], allowed)
                beyond = None
            else:
                beyond = await self._connect(*question["connect"], allowed)
                answer = True
        except OSError as error:
            kind = "gaierror" if isinstance(error, socket.gaierror) else "OSError"
            writer.write(json.dumps({"error": kind, "arguments": [error.errno, error.strerror or str(error)]}).encode() + b"\n")
            return
        writer.write(json.dumps({"answer": answer}).encode() + b"\n")
        if beyond is not None:
            host, port = question["connect"]
            watched = (_named(host), port) in self._watched
            await self._relay((reader, writer), beyond, allowed, watched=watched)

    async def _look_up(self, arguments: list[Any], allowed: tuple[str, ...]) -> list[Any]:
        host, port, *more = arguments
        if not is_allowed(host, allowed):
            raise socket.gaierror(socket.EAI_FAIL, f"{host} is not reached from a sandbox")
        names = dict(zip(("family", "type", "proto", "flags"), more, strict=False))
        found = await self._loop.getaddrinfo(host, port, **names)
        self._known.update(str(each[4][0]) for each in found)
        return found

    async def _connect(self, host: str, port: int, allowed: tuple[str, ...]) -> Any:
        if host not in self._known and not is_allowed(host, allowed):
            raise PermissionError(1, f"{host} is not reached from a sandbox")
        return await asyncio.open_connection(host, port)

    async def _relay(self, inside: Any, outside: Any, allowed: tuple[str, ...], *, watched: bool) -> None:
        """Hand on what each side says to the other, until both are silent."""
        (reader, writer), (answers, requests) = inside, outside
        try:
            back = asyncio.create_task(_pump(answers, writer))
            first = await reader.read(1)
            if watched or (first.isalpha() and not is_local(requests.get_extra_info("peername")[0])):
                await _hand_on_reads(first, reader, requests, writer, allowed)
            else:
                requests.write(first)
                await _pump(reader, requests)
            await back
        finally:
            requests.close()


async def _hand_on_reads(first: bytes, reader: Any, requests: Any, writer: Any, allowed: tuple[str, ...]) -> None:
    """Hand on requests that read; what follows a `CONNECT` to a host that may be asked is handed on as it is."""
    while first:
        if not first.isalpha():  # encrypted
            requests.write(first)
            await _pump(reader, requests)
            return
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target, *_ = head.decode("latin-1").split(" ")
        host = urlsplit(target if "//" in target else f"//{target}").hostname or ""
        if method == "CONNECT" and is_allowed(host, allowed) and not is_local(host):
            requests.write(head)
            first = await reader.read(1)
            continue
        if not is_read(method, target) or ("//" in target and not is_allowed(host, allowed)):
            writer.write(REFUSED)
            await writer.drain()
            return
        requests.write(head + await reader.readexactly(_length(head)))
        first = await reader.read(1)
    requests.write_eof()


def _named(host: str) -> str:
    """Return a host's name, which is one for all names of this machine."""
    return "localhost" if is_local(host) else host


def _length(head: bytes) -> int:
    """Return how many bytes a request has after its head.

    >>> _length(b"POST /a HTTP/1.1\\r\\ncontent-length: 12\\r\\n\\r\\n")
    12
    """
    fields = (line.split(b":", 1) for line in head.split(b"\r\n") if b":" in line)
    return next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)


async def _pump(reader: Any, writer: Any) -> None:
    with suppress(OSError):
        while read := await reader.read(CHUNK):
            writer.write(read)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _listen(folder: Path) -> socket.socket:
    """Return a socket in a folder, however long the folder's name is."""
    listener = socket.socket(socket.AF_UNIX)
    descriptor = os.open(folder, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{descriptor}/{NAME}")
    os.close(descriptor)
    listener.listen()
    listener.setblocking(False)
    return listener
