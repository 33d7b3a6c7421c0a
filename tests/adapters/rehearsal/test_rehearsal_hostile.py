"""What a rehearsed script cannot do, whatever it calls: change the user's files, send data, leave processes behind."""

import fcntl
import http.server
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.payload.rehearsal.part_request import PartRequest
from tests.helpers.hostile_scripts import HARMING, OUTSIDE, OUTSIDE_OF_LIBRARIES, SENDING, STAYING
from tests.helpers.sampling import sampled

HEAD = "import ctypes, fcntl, http.client, os, shutil, signal, socket, struct, subprocess, sys, time, urllib.request\n"
EVERY = 4


@dataclass
class Place:
    """A user's folders, and a machine that listens.

    Attributes:
        folder: Where they lie.
        names: What the script is told, by name.
        sent: What the Hub was sent.
        listening: Other sockets that listen.
        before: What lay in the folders when the script began.
    """

    folder: Path
    names: dict[str, object]
    sent: list[bytes] = field(default_factory=list[bytes])
    listening: list[socket.socket] = field(default_factory=list[socket.socket])
    before: dict[str, object] = field(default_factory=dict[str, object])

    def play(self, source: str) -> PartResult:
        """Play a script; it and all that it started have ended when this returns."""
        source = HEAD + "".join(f"{name} = {value!r}\n" for name, value in self.names.items()) + source
        (self.folder / "work" / "script.py").write_text(source)
        (box := self.folder / "box").mkdir()
        part_request = PartRequest(script="script.py", source=source, folder=str(box / "whole"), gpu="none")
        hub = {"HF_ENDPOINT": str(self.names.get("HUB", "http://127.0.0.1:9"))}
        self.before = self.tree
        with RehearsalServer([sys.executable], header="", wanted=[], folder=box, variables=hub) as server:
            if because := server.wait_ready(60)["no_sandbox"]:
                pytest.skip(because)
            played = server.play([part_request], limit_s=60, limit_bytes=1 << 33)[0]
        assert played.facts("no_sandbox") == ()
        return played

    @property
    def tree(self) -> dict[str, object]:
        """What lies in the user's folders: rights, links, attributes, content."""
        files = [each for name in ("work", "outside") for each in (self.folder / name).rglob("*")]
        return {
            str(each): (each.stat().st_mode, each.stat().st_nlink, os.listxattr(each), each.read_bytes())
            for each in files
        }

    @property
    def received(self) -> list[bytes]:
        """What the machine was sent."""
        return [*self.sent, *filter(None, map(_received, self.listening))]


def _received(listener: socket.socket) -> bytes:
    """Return what a socket was sent; empty where nobody came."""
    with suppress(BlockingIOError):
        if listener.type == socket.SOCK_DGRAM:
            return listener.recv(100)
        connection, _ = listener.accept()
        with connection:
            return b"a connection: " + connection.recv(100)
    return b""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place with a file in it."""
    for name in ("work", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    monkeypatch.chdir(tmp_path / "work")
    return Place(tmp_path, {"OUTSIDE": str(tmp_path / "outside"), "MARK": f"holdfast-{uuid4().hex}"})


class Hub(http.server.BaseHTTPRequestHandler):
    """A Hub that has a row for everybody, and notes what it is sent; `sent` is of the place that it serves."""

    protocol_version = "HTTP/1.1"
    sent: list[bytes]

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"a row")

    def do_POST(self) -> None:
        self.sent.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the name that it overrides


@contextmanager
def serving(sent: list[bytes]) -> Iterator[str]:
    """Serve a Hub on this machine, and yield its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (Hub,), {"sent": sent})) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def named_socket(name: str) -> socket.socket:
    """Return a socket that listens under a name: a path, or an abstract one."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(name)
    made.listen()
    return made


@pytest.fixture
def listening(place: Place) -> Iterator[Place]:
    """A place whose machine listens."""
    with ExitStack() as stack:
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        named = [named_socket(f"\0{place.names['MARK']}"), named_socket(str(place.folder / "outside.socket"))]
        place.listening = [stack.enter_context(each) for each in (tcp, udp, *named)]
        for each in place.listening:
            each.settimeout(0)
        place.names |= {"UDP": udp.getsockname()[1], "TCP": tcp.getsockname()[1]}
        place.names |= {name: stack.enter_context(serving(place.sent)) for name in ("HUB", "SERVICE")}
        yield place


@pytest.mark.parametrize("name", sampled(OUTSIDE, EVERY))
def test_nothing_outside_the_rehearsals_folder_changes(place: Place, name: str) -> None:
    """A script that is only rehearsed does not cost its user a file, not even by mistake."""
    place.play(OUTSIDE[name])
    assert place.tree == place.before


@pytest.mark.long
@pytest.mark.train
@pytest.mark.parametrize("name", OUTSIDE_OF_LIBRARIES)
def test_nothing_outside_changes_by_libraries_that_open_files_themselves(place: Place, name: str) -> None:
    """Libraries in C++ pass by every function of Python. They believe that they have written, and the script goes on."""
    played = place.play(OUTSIDE_OF_LIBRARIES[name])
    assert place.tree == place.before
    assert played.code == 0, played.logs["stderr.log"]


@pytest.mark.parametrize("name", sampled(SENDING, EVERY))
def test_nothing_is_sent(listening: Place, name: str) -> None:
    """What a script would upload, log or report stays on the machine, whichever way it takes."""
    played = listening.play(SENDING[name])
    assert listening.received == [], played.logs


@pytest.mark.parametrize("name", sampled(STAYING, EVERY))
def test_no_process_is_left_behind(place: Place, name: str) -> None:
    """A process that moved to a session of its own ends with the rehearsal, and holds no memory or port afterwards."""
    words = [sys.executable, "-I", "-c", "import time; time.sleep(600)", str(place.names["MARK"])]
    place.names |= {"SLEEP": sys.executable, "WORDS": words}
    played = place.play(STAYING[name] + "\nprint('on')")
    assert "on" in played.logs["stdout.log"], played.logs["stderr.log"]
    assert [each for each in psutil.process_iter() if place.names["MARK"] in _words(each)] == []


@pytest.mark.parametrize("megabytes", [1, 400])
def test_what_a_process_held_is_free_afterwards(place: Place, megabytes: int) -> None:
    """A process is gone from the list of processes before its memory and its files are free. Whoever asks then finds them free."""
    lock = place.folder / "box" / "whole" / "lock"
    place.names |= {"LOCK": str(lock)}
    played = place.play(
        f"if not os.fork():\n    ctypes.CDLL(None).setsid(); memory = b'1' * ({megabytes} << 20)\n"
        "    file = open(LOCK + '.free', 'w'); fcntl.flock(file, fcntl.LOCK_EX); os.rename(file.name, LOCK); time.sleep(600)\n"
        "while not os.path.exists(LOCK): time.sleep(0.01)"
    )
    assert played.code == 0, played.logs["stderr.log"]
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


@pytest.mark.parametrize("name", sampled(HARMING, EVERY))
def test_no_other_process_is_ended(place: Place, name: str) -> None:
    """A script that looks for old processes of its own to end finds none of the user's."""
    with subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"]) as victim:
        place.names["VICTIM"] = victim.pid
        place.play(HARMING[name])
        ended = victim.poll()
        victim.kill()
    assert ended is None


def test_the_process_that_starts_a_script_outlives_its_signals(place: Place) -> None:
    """A script that ends its parent, as some launchers do, still has a verdict."""
    played = place.play("os.kill(os.getppid(), signal.SIGKILL); print('on')")
    assert (played.code, played.logs["stdout.log"]) == (0, "on\n")


HEALTHY = r"""
import asyncio, json, multiprocessing, multiprocessing.shared_memory, tempfile, threading, urllib.error
print(urllib.request.urlopen(f"{HUB}/a").read())
print(urllib.request.urlopen(urllib.request.Request(f"{HUB}/api/datasets/a/paths-info/main", data=b"{}")).read())
print(urllib.request.urlopen(urllib.request.Request(f"{SERVICE}/score", data=b"asked")).read())
async def read():
    reader, writer = await asyncio.open_connection(*HUB.split("/")[2].split(":"))
    writer.write(b"GET /b HTTP/1.0\r\nHost: a\r\n\r\n")
    return (await reader.read()).splitlines()[0]
print(asyncio.run(read()))
with socket.create_server(("localhost", 0)) as own:
    threading.Thread(target=lambda: own.accept()[0].send(b"own")).start()
    print(socket.create_connection(own.getsockname()).recv(3))
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
memory = multiprocessing.shared_memory.SharedMemory(create=True, size=8)
memory.buf[0] = 7
print(bytes(memory.buf[:1])); memory.close(); memory.unlink()
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["sort", "-o", f"{folder}/a", "script.py"], check=True)
    print(os.path.getsize(f"{folder}/a") == os.path.getsize("script.py"))
subprocess.run(["sort", "-o", "native", "script.py"], check=True)
print(os.path.getsize("native") == os.path.getsize("script.py"), os.access(OUTSIDE, os.W_OK), os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
try:
    socket.create_connection(("127.0.0.1", 9))
except ConnectionRefusedError as error:
    print(error)
"""


def test_what_a_healthy_script_needs_works(listening: Place) -> None:
    """Reads of the Hub, services of this machine, processes, shared memory, and files that other programs write."""
    played = listening.play(HEALTHY)
    assert played.logs["stdout.log"].splitlines() == [
        "b'a row'",
        "b'a row'",
        "b'a row'",
        "b'HTTP/1.1 200 OK'",
        "b'own'",
        "[1, 2]",
        "b'\\x07'",
        "True",
        "True True True",
        "[Errno 111] Connection refused",
    ], played.logs["stderr.log"]
    assert played.code == 0
    assert listening.received == [b"{}", b"asked"]
    assert listening.tree == listening.before


TRAINING = """
import torch, torch.distributed as dist, multiprocessing
from torch.utils.data import DataLoader
with socket.create_server(("localhost", 0)) as free: port = free.getsockname()[1]
def meet(rank):
    store = dist.TCPStore(socket.gethostname() if rank else "localhost", port, 2, is_master=rank == 0)
    group = dist.ProcessGroupGloo(store, rank, 2)
    group.allreduce(value := torch.ones(1) * (rank + 1)).wait()
    print(value.item(), flush=True)
ranks = [multiprocessing.get_context("fork").Process(target=meet, args=(rank,)) for rank in range(2)]
for rank in ranks: rank.start()
for rank in ranks: rank.join()
print(sum(batch.sum().item() for batch in DataLoader(torch.arange(20.0), batch_size=4, num_workers=2)))
print(torch.ones(9).share_memory_().is_shared())
"""


@pytest.mark.long
@pytest.mark.train
def test_what_a_healthy_training_needs_works(place: Place) -> None:
    """Two ranks that talk by gloo, workers of a data loader, tensors in shared memory."""
    played = place.play(TRAINING)
    assert played.logs["stdout.log"].splitlines() == ["3.0", "3.0", "190.0", "True"], played.logs["stderr.log"]
