"""The sandbox of a rehearsal: where there is none, and what its parts say."""

import os
import socket
from pathlib import Path

import pytest

from holdfast.adapters.rehearsal.gate import Gate
from holdfast.payload.rehearsal import sandbox
from holdfast.payload.rehearsal.sandbox import kernel
from holdfast.payload.rehearsal.sandbox.gate import find_gate, look_up, open_gate
from tests.helpers.rehearsal_parts import play


def test_a_machine_that_gives_no_sandbox_says_why_and_rehearses_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers and macOS have none: the guards in Python stand alone, and the answer says so."""

    def refuse(_: int) -> None:
        raise PermissionError(1, "unshare: Operation not permitted")

    monkeypatch.setattr(kernel, "unshare", refuse)
    before = os.getpid(), Path("/proc/self/ns/mnt").readlink()
    assert sandbox.enter() == "[Errno 1] unshare: Operation not permitted"
    assert (os.getpid(), Path("/proc/self/ns/mnt").readlink()) == before


@pytest.mark.parametrize(("host", "is_found"), [("localhost", True), ("example.org", False)])
def test_the_gate_finds_the_hosts_that_the_guards_know_and_no_others(
    tmp_path: Path, host: str, *, is_found: bool
) -> None:
    """What gets to the gate without the guards is refused there, before anything is asked of the network."""
    with Gate(tmp_path, {}) as gate:
        port = open_gate(find_gate(gate.path), offline=True)
        if is_found:
            assert look_up(port, host, 80, type=socket.SOCK_STREAM)[-1][4][1] == 80
        else:
            with pytest.raises(socket.gaierror, match="cannot be reached from a sandbox"):
                look_up(port, host, 80)


ENCRYPTED = """
import ssl
hub = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname={host!r})
try:
    hub.write(b"{request} HTTP/1.1\\r\\n")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("host", "request_line", "met"),
    [
        ("huggingface.co", "POST /api/models/a/b/commit/main", "OutOfReachError"),
        ("huggingface.co", "DELETE /api/repos/delete", "OutOfReachError"),
        ("huggingface.co", "POST /api/datasets/a/b/paths-info/main", "SSLWantReadError"),
        ("huggingface.co", "GET /api/models/a/b", "SSLWantReadError"),
        ("localhost", "POST /score", "SSLWantReadError"),
    ],
)
def test_an_encrypted_request_that_writes_is_not_sent(tmp_path: Path, host: str, request_line: str, met: str) -> None:
    """No other guard can see into it: a script that writes to the Hub by a client of its own changes nothing there."""
    done = play(tmp_path, ENCRYPTED.format(host=host, request=request_line), ("guards",))
    assert done.printed == [met], done.errors
    assert bool(done.not_rehearsed) == (met == "OutOfReachError")
