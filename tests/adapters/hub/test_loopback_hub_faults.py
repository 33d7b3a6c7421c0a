"""The loopback Hub on the wire, and all that can be made to go wrong there."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest

from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub.client import Ask, RaisedError, client_of
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`

MIB = 2**20


def test_what_is_asked_and_not_there(hub: LoopbackHub, ask: Ask) -> None:
    """Other addresses are 404, which clients tolerate for telemetry and the like, and never a mistake of this Hub."""
    for path in (
        "/api/agent-harnesses",
        "/api/telemetry/trl/SFTTrainer",
        "/",
        "/api",
        "/api/models/a/b/none",
        "//",
        "/%",
        "/a/b/c/d",
    ):
        assert status(hub, path) == (401 if path == "/%" else 404), path
    assert ask("nobody") != ""


def status(hub: LoopbackHub, path: str, method: str = "GET", **headers: str) -> int:
    """Return the status of an answer."""
    return answered(hub, path, method, **headers)[0]


def connect(address: str) -> HTTPConnection:
    """Return a connection to a host."""
    host, _, port = address.removeprefix("http://").partition(":")
    return HTTPConnection(host, int(port), timeout=10)


def answered(hub: LoopbackHub, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return an answer as it is on the wire."""
    connection = connect(hub.address)
    try:
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def test_files_on_the_wire(hub: LoopbackHub) -> None:
    """Small files are led to an address of their commit, large ones to another host, where no token is sent."""
    repo = hub.add_model("acme/wire", {"a.json": "{}", "m.safetensors": b"0123456789"})
    code, told, _ = answered(hub, "/acme/wire/resolve/main/a.json", "HEAD")
    assert (code, told["x-repo-commit"], told["x-linked-size"]) == (307, repo.head.oid, "2")
    assert told["location"].startswith(f"/api/resolve-cache/models/acme/wire/{repo.head.oid}/a.json?")
    code, told, body = answered(hub, told["location"])
    assert (code, body, told["etag"]) == (200, b"{}", '"9e26dfeeb6e641a33dae4961196235bdb965b21b"')
    code, told, _ = answered(hub, "/acme/wire/resolve/main/m.safetensors", "HEAD")
    assert (code, told["x-linked-etag"]) == (302, f'"{hashlib.sha256(b"0123456789").hexdigest()}"')
    assert told["location"].startswith(hub.outside)
    cached = f"/api/resolve-cache/models/acme/wire/{repo.head.oid}/a.json"
    assert answered(hub, cached, Range="bytes=1-")[::2] == (206, b"}")
    assert answered(hub, cached, Range="bytes=-1")[::2] == (206, b"}")
    assert answered(hub, cached, Range="bytes=0-0")[1]["content-range"] == "bytes 0-0/2"
    assert status(hub, cached, Range="bytes=9-") == 416
    code, told, _ = answered(hub, "/acme/wire/resolve/main/none")
    assert (code, told["x-error-code"], told["x-repo-commit"]) == (404, "EntryNotFound", repo.head.oid)
    assert "text/html" in answered(hub, "/acme/wire/blob/main/a.json")[1]["content-type"]
    assert answered(hub, "/acme/wire/raw/main/m.safetensors")[2].startswith(b"version https://git-lfs")


def test_a_broken_download_is_resumed(hub: LoopbackHub, ask: Ask) -> None:
    """The client asks for the rest of a file whose connection ended, and has it whole; it keeps what it has by tens of MiB."""
    content = bytes(range(256)) * (12 * 4096)
    hub.add_model("acme/long", {"m.safetensors": content})
    hub.break_off("^GET /large/", after_bytes=11 * MIB)
    assert ask("Path(api.hf_hub_download('acme/long', 'm.safetensors')).stat().st_size") == len(content)
    asked = hub.asked("^GET /large/")
    assert [request.headers.get("range") for request in asked] == [None, f"bytes={10 * MIB}-"]
    assert all("authorization" not in request.headers for request in asked)


def test_too_many_requests(hub: LoopbackHub, ask: Ask) -> None:
    """The client waits as long as it is told, and asks again; or it says so, where it does not ask again."""
    hub.add_model("acme/busy", {"a.txt": "a"})
    hub.fail("/tree/", status=429, times=1, headers={"RateLimit": '"api";r=0;t=0'})
    assert ask("list(api.list_repo_files('acme/busy'))") == ["a.txt"]
    assert [request.answered for request in hub.asked("/tree/")] == [429, 200]
    hub.fail("busy$", status=429, times=1)
    assert "you have reached your 'api' rate limit" in ask("error_of(api.model_info, 'acme/busy')")[1]
    hub.fail("busy$", status=503, times=1, headers={"Retry-After": "1"})
    assert ask("error_of(api.model_info, 'acme/busy')[0]") == "HfHubHTTPError"
    assert ask("api.model_info('acme/busy').id") == "acme/busy"


def test_silence_and_slowness(hub: LoopbackHub, ask: Ask) -> None:
    """A Hub that does not answer, or late, runs into the client's own limit of time."""
    hub.add_model("acme/quiet", {"a.txt": "a"})
    hub.hang("quiet$", times=1)
    assert ask("error_of(api.model_info, 'acme/quiet', timeout=0.2)[0]") == "ReadTimeout"
    hub.slow("quiet$", 5.0, times=1)
    assert ask("error_of(api.model_info, 'acme/quiet', timeout=0.2)[0]") == "ReadTimeout"
    hub.slow("quiet$", 0.1, times=1)
    assert ask("api.model_info('acme/quiet', timeout=5).id") == "acme/quiet"
    hub.cut("quiet$", times=1)
    assert ask("error_of(api.model_info, 'acme/quiet')[0]") == "RemoteProtocolError"


def test_a_hub_ends_whatever_hangs() -> None:
    """A test is over at once, though a client still waits; the client is told by its connection."""
    with loopback_hub() as hub, ThreadPoolExecutor() as pool:
        hub.hang("")
        waiting = pool.submit(answered, hub, "/api/whoami-v2")
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        hub.close()
        assert isinstance(waiting.exception(timeout=5), OSError)


def test_a_hub_ends_while_connections_are_kept() -> None:
    """Those that nobody uses are ended too; the end does not wait for the client."""
    with loopback_hub() as hub:
        connection = connect(hub.address)
        connection.request("GET", "/api/models")
        connection.getresponse().read()
        hub.close()
        assert connection.sock.recv(1) == b""
        connection.close()


def test_a_large_file_that_was_damaged_on_its_way(hub: LoopbackHub) -> None:
    """It is not taken for the one that was announced."""
    connection = connect(hub.outside)
    connection.request("PUT", f"/upload/{hashlib.sha256(b'whole').hexdigest()}", body=b"half")
    assert connection.getresponse().status == 400
    assert hub.large == {}
    connection.close()


def test_latency_of_every_answer() -> None:
    """Each answer takes as long as it is told to, also a refusal; and the end does not wait for it."""
    with loopback_hub(latency_s=60) as hub, ThreadPoolExecutor() as pool:
        waiting = [pool.submit(status, hub, path) for path in ("/api/jobs/hardware", "/api/none")]
        for one in waiting:
            with pytest.raises(TimeoutError):
                one.result(timeout=0.1)
        hub.close()
        assert all(isinstance(one.exception(timeout=5), OSError) for one in waiting)


def test_bodies_that_are_no_json(hub: LoopbackHub) -> None:
    """They are refused, and no mistake of this Hub."""
    assert status(hub, "/api/validate-yaml", "POST") == 400


def test_connections_are_kept(hub: LoopbackHub) -> None:
    """One connection serves many requests, also after a refusal, and takes bodies that come in chunks."""
    connection = connect(hub.address)
    connection.connect()
    first = connection.sock
    for path, expected in (("/api/models", 200), ("/api/none", 404), ("/api/whoami-v2", 401)):
        connection.request("GET", path)
        reply = connection.getresponse()
        reply.read()
        assert reply.status == expected
    body = iter([b'{"content": "', b'# x"}'])
    connection.request("POST", "/api/validate-yaml", body=body, encode_chunked=True)
    reply = connection.getresponse()
    assert (reply.status, b"empty or missing" in reply.read()) == (200, True)
    assert connection.sock is first
    connection.close()


def test_a_mistake_of_the_hub_fails_the_test() -> None:
    """It is not taken for an answer."""
    closing = loopback_hub()
    hub = closing.__enter__()
    hub.add_model("acme/a", likes="many")
    hub.add_model("acme/b")
    assert status(hub, "/api/models") == 500
    with pytest.raises(AssertionError, match="TypeError"):
        closing.__exit__(None, None, None)


def test_pages_elsewhere(hub: LoopbackHub) -> None:
    """A test may put pages on the other host, for links in jobs; what it did not put there is not there."""
    path = hub.add_page("/someone/repo/blob/main/train.py", "<html>").removeprefix(hub.outside)
    connection = connect(hub.outside)
    for asked, status_of_it, kind in [
        (path, 200, "text/html"),
        ("/", 404, "application/json"),
        ("/large", 404, "application/json"),
    ]:
        connection.request("GET", asked)
        reply = connection.getresponse()
        reply.read()
        assert (reply.status, reply.headers.get_content_type()) == (status_of_it, kind)
    connection.close()


def test_a_client_without_a_token() -> None:
    """Where a test takes the token away, the client has none, whatever this machine has."""
    with loopback_hub() as hub:
        hub.token = None
        with client_of(hub, "import huggingface_hub") as ask:
            assert ask("huggingface_hub.get_token()") is None
            with pytest.raises(RaisedError, match="LocalTokenNotFoundError"):
                ask("huggingface_hub.whoami()")


def test_ports_are_given_back() -> None:
    """Nobody listens any more when a test is over."""
    with loopback_hub() as hub:
        addresses = [hub.address, hub.outside]
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            connect(address).connect()
