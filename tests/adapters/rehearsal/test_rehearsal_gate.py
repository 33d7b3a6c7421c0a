"""The gate of sandboxes answers each of them, whatever others do."""

import json
import socket
from pathlib import Path

import pytest

from holdfast.adapters.rehearsal.gate import Gate

QUESTION = {"look_up": {"host": "example.org", "port": 80}}


def ask(gate: Gate) -> str:
    """Return the answer that a sandbox gets to its first question."""
    with socket.socket(socket.AF_UNIX) as sandbox, socket.create_server(("127.0.0.1", 0)) as port:
        sandbox.connect(gate.path)
        socket.send_fds(sandbox, [b"offline"], [port.fileno()])
        with socket.create_connection(port.getsockname()) as connection:
            connection.sendall(json.dumps(QUESTION).encode() + b"\n")
            return connection.makefile().readline()


@pytest.mark.parametrize("sent", [b"", b"offline"])
def test_a_sandbox_that_ends_before_it_has_asked_leaves_the_gate_to_others(tmp_path: Path, sent: bytes) -> None:
    """Its process was killed while it entered: without a word, or without the port that goes with it."""
    with Gate(tmp_path, {}) as gate:
        with socket.socket(socket.AF_UNIX) as early:
            early.connect(gate.path)
            early.sendall(sent)

        assert "example.org cannot be reached" in ask(gate)
