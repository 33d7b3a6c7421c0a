"""The gate of sandboxes: answers from outside what the guards let a rehearsed script ask of the network.

Covered: the Hub and the proxies on the way to it, reads alone where they are not encrypted; services of this machine. Not
covered: that an encrypted request only reads, which the guards in Python hold.
"""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Final, Self
from urllib.parse import urlsplit

from holdfast.payload.rehearsal.sandbox.reach import hosts, hub_endpoint, is_allowed, is_local, is_read, proxies

NAME: Final = "gate"
CHUNK: Final = 1 << 16
PATIENCE_S: Final = 10.0
"""A sandbox sends its port as soon as it has connected."""
REFUSED: Final = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PORTS: Final = {"http": 80, "https": 443}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


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
        self._listener = _listen(folder)
        self._thread = Thread(target=self._run, daemon=True)
        self._cancel = Queue[Callable[[], object]]()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # its loop is closed already
            self._cancel.get()()
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._welcome())

    async def _welcome(self) -> None:
        """Take up each sandbox that asks for a way out."""
        loop = asyncio.get_running_loop()
        work = asyncio.current_task()
        self._cancel.put(lambda: loop.call_soon_threadsafe(work.cancel if work else loop.stop))
        async with asyncio.TaskGroup() as sandboxes:
            while True:
                sandbox, _ = await loop.sock_accept(self._listener)
                sandboxes.create_task(self._serve(sandbox, loop))

    async def _serve(self, sandbox: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """Answer at the port of a sandbox until its last process has ended."""
        with sandbox, suppress(OSError, ValueError):  # it may end at any time, and before it has asked
            sandbox.settimeout(PATIENCE_S)
            kind, (port, *_), _, _ = socket.recv_fds(sandbox, CHUNK, 1)
            sandbox.settimeout(0)
            allowed = hosts(self._variables, offline=kind == b"offline")

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                    await self._answer(reader, writer, allowed)
                writer.close()

            async with await asyncio.start_server(answer, sock=socket.socket(fileno=port)):
                await loop.sock_recv(sandbox, 1)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allowed: tuple[str, ...]
    ) -> None:
        """Answer the question that a connection begins with, and go on as it asks."""
        question = json.loads(await reader.readline())
        try:
            if "look_up" in question:
                found = await self._look_up(question["look_up"], allowed)
                writer.write(_line(answer=found))
                return
            host, port = question["connect"]
            outside = await self._connect(host, port, allowed)
        except OSError as error:
            writer.write(
                _line(
                    error="gaierror" if isinstance(error, socket.gaierror) else "OSError", arguments=_arguments(error)
                )
            )
            return
        writer.write(_line(answer=None))
        await _relay((reader, writer), outside, allowed, watched=(_named(host), port) in self._watched)

    async def _look_up(self, arguments: Mapping[str, Any], allowed: tuple[str, ...]) -> list[Any]:
        if not is_allowed(arguments["host"], allowed):
            raise socket.gaierror(socket.EAI_FAIL, f"{arguments['host']} cannot be reached from a sandbox")
        found = await asyncio.get_running_loop().getaddrinfo(**arguments)
        self._known.update(str(each[4][0]) for each in found)
        return found

    async def _connect(self, host: str, port: int, allowed: tuple[str, ...]) -> Streams:
        if host not in self._known and not is_allowed(host, allowed):
            raise PermissionError(1, f"{host} cannot be reached from a sandbox")
        return await asyncio.open_connection(host, port)


async def _relay(inside: Streams, outside: Streams, allowed: tuple[str, ...], *, watched: bool) -> None:
    """Hand on what each side says to the other, until both are silent."""
    (reader, writer), (answers, requests) = inside, outside
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(answers, writer))
            first = await reader.read(1)
            if watched or (first.isalpha() and not is_local(requests.get_extra_info("peername")[0])):
                await _hand_on_reads(first, reader, requests, writer, allowed)
            else:
                requests.write(first)
                await _pump(reader, requests)
    finally:
        requests.close()


async def _hand_on_reads(
    first: bytes,
    reader: asyncio.StreamReader,
    requests: asyncio.StreamWriter,
    writer: asyncio.StreamWriter,
    allowed: tuple[str, ...],
) -> None:
    """Hand on requests that read; what follows a `CONNECT` to a host that may be contacted is handed on as it is."""
    while first:
        if not first.isalpha():  # encrypted
            requests.write(first)
            await _pump(reader, requests)
            return
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target, *_ = head.decode("latin-1").split(" ")
        if _opens_tunnel(method, target, allowed):
            requests.write(head)
        elif _is_refused(method, target, allowed):
            writer.write(REFUSED)
            requests.close()
            return
        else:
            requests.write(head + await reader.readexactly(_length(head)))
        first = await reader.read(1)
    requests.write_eof()


def _opens_tunnel(method: str, target: str, allowed: tuple[str, ...]) -> bool:
    """True of a `CONNECT` to a host that may be contacted."""
    host = _host_of(target)
    return method == "CONNECT" and is_allowed(host, allowed) and not is_local(host)


def _is_refused(method: str, target: str, allowed: tuple[str, ...]) -> bool:
    """True of a request that does not read, or that goes through a proxy to a host that may not be contacted."""
    return not is_read(method, target) or ("//" in target and not is_allowed(_host_of(target), allowed))


def _host_of(target: str) -> str:
    """Return the host of a request's target: of an address, or of `host:port`."""
    return urlsplit(target if "//" in target else f"//{target}").hostname or ""


def _line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _arguments(error: OSError) -> list[Any]:
    """Return the arguments of an error as the script would meet it; asyncio adds to the text of what it meets."""
    text = error.strerror if isinstance(error, socket.gaierror) or error.errno is None else os.strerror(error.errno)
    return [error.errno, text or str(error)]


def _named(host: str) -> str:
    """Return a host's name, which is one for all names of this machine."""
    return "localhost" if is_local(host) else host


def _length(head: bytes) -> int:
    r"""Return how many bytes a request has after its head.

    >>> _length(b"POST /a HTTP/1.1\r\ncontent-length: 12\r\n\r\n")
    12
    """
    fields = (line.split(b":", 1) for line in head.split(b"\r\n") if b":" in line)
    return next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
    listener.settimeout(0)
    return listener
