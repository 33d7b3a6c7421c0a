"""The way out of a sandbox's network: a port of its loopback interface, at which `adapters/rehearsal/gate.py` answers outside.

A connection begins with one line of JSON, a question, and one of answer: `{"look_up": [HOST, ...]}` asks for addresses,
`{"connect": [HOST, PORT]}` for a connection, which then goes on in it. What a question meets outside, it raises here.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
LISTENING = "0A"
"""How `/proc/net/tcp` spells the state of a port that is listened on."""
_connect = socket.socket.connect  # before the guards take its place


def find_gate(path: str) -> socket.socket:
    """Return a connection to the gate, by the path of its socket, which no overlay lies over yet."""
    gate = socket.socket(socket.AF_UNIX)
    folder = os.open(Path(path).parent, os.O_PATH)
    _connect(gate, f"/proc/self/fd/{folder}/{Path(path).name}")  # the name of a socket has 107 letters at most
    os.close(folder)
    return gate


def open_gate(gate: socket.socket, *, offline: bool) -> int:
    """Have the gate answer at a port of this network; return the port.

    Args:
        gate: The connection to it, which stays open: its end closes the port.
        offline: Whether nothing but this machine is to be reached.
    """
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        socket.send_fds(gate, [b"offline" if offline else b"hub"], [listener.fileno()])
        gate.detach()
        port: int = listener.getsockname()[1]
        return port


def ask(connection: socket.socket, port: int, **question: Any) -> Any:
    """Connect a socket to the gate, and return its answer. Raises the OSError that is met outside."""
    waiting = connection.gettimeout()
    connection.settimeout(None)
    try:
        host = f"::ffff:{LOOPBACK}" if connection.family == socket.AF_INET6 else LOOPBACK
        _connect(connection, (host, port))
        connection.sendall(json.dumps(question).encode() + b"\n")
        answer = json.loads(_read_line(connection))
    finally:
        connection.settimeout(waiting)
    if "error" in answer:
        kind = socket.gaierror if answer["error"] == "gaierror" else OSError
        raise kind(*answer["arguments"])
    return answer["answer"]


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        read = connection.recv(1)
        if not read:
            raise ConnectionResetError("the rehearsal's way to the network has ended")
        line += read
    return line


def connect(connection: socket.socket, gate: int, host: str, port: int) -> None:
    """Connect a socket to a port outside. Raises the OSError that is met there."""
    ask(connection, gate, connect=(host, port))


def look_up(gate: int, host: str, port: Any, *more: Any, **named: Any) -> list[tuple[Any, ...]]:
    """Return what `socket.getaddrinfo` returns outside, for the same arguments. Raises the OSError that it raises there."""
    chosen = dict(zip(("family", "type", "proto", "flags"), more, strict=False)) | named
    with socket.socket() as connection:
        question = {"host": host, "port": port, **{name: int(value) for name, value in chosen.items()}}
        found = ask(connection, gate, look_up=question)
    return [
        (socket.AddressFamily(family), socket.SocketKind(kind), protocol, name, tuple(address))
        for family, kind, protocol, name, address in found
    ]


def is_served(port: int) -> bool:
    """Return whether a process of the sandbox listens on a port."""
    return any(_listens(table, f":{port:04X}") for table in ("/proc/net/tcp", "/proc/net/tcp6"))


def _listens(table: str, port: str) -> bool:
    try:
        fields = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()]
    except OSError:  # a kernel without IPv6
        return False
    return any(each[1].endswith(port) and each[3] == LISTENING for each in fields[1:])
