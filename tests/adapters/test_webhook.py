"""Messages about a run reach the service that the job names, and whatever the service does, the run does not notice."""

import json
import logging
from collections.abc import Iterator
from email.message import Message
from http.client import BadStatusLine
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread
from urllib.error import HTTPError

import pytest

from holdfast.adapters import webhook as module
from holdfast.adapters.webhook import MOST_WAITING, TRIES, Webhook, resolve_address
from holdfast.core.errors import UsageError
from holdfast.core.run.notice import RunNotice

NOTICE = RunNotice(kind="trouble", run="a-x7", job="a", stage="running", text="the loss rises", step=4, at_s=9.0)


@pytest.fixture
def received() -> Iterator[tuple[str, list[bytes]]]:
    """A service, by its address, and what it has received."""
    bodies = list[bytes]()

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", bodies
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_message_arrives_in_the_words_of_the_service(received: tuple[str, list[bytes]]) -> None:
    """As JSON for programs, as a line for Slack."""
    address, bodies = received
    for style in ("json", "slack"):
        hook = Webhook(address, style)
        hook.tell(NOTICE)
        hook.close()

    assert json.loads(bodies[0]) == {
        "schema": 1, "kind": "trouble", "run": "a-x7", "job": "a", "stage": "running", "text": "the loss rises", "step": 4, "at": 9.0,
    }  # fmt: skip
    assert json.loads(bodies[1]) == {"text": "a-x7: the loss rises"}


def refusal(code: int) -> HTTPError:
    return HTTPError("http://secret.example", code, "no", Message(), None)


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (OSError("no route"), TRIES),
        (refusal(503), TRIES),
        (refusal(429), TRIES),
        (refusal(404), 1),
        (ValueError("bad"), TRIES),
        (BadStatusLine("ICY \x1b[2J"), TRIES),
    ],
)
def test_a_service_that_fails_is_tried_again_and_then_left_alone(
    error: Exception, tries: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why, without the address, which may be a secret."""
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    tried = list[str]()

    def send(address: str, _body: bytes) -> None:
        tried.append(address)
        raise error

    hook = Webhook("http://secret.example", "json", send)
    with caplog.at_level(logging.WARNING, "holdfast"):
        hook.tell(NOTICE)
        hook.close()

    assert len(tried) == tries
    assert "webhook: " in caplog.text
    assert "secret.example" not in caplog.text


def test_a_service_that_hangs_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the messages, of which the last are left out, nor the end of the run."""
    monkeypatch.setattr(module, "LAST_S", 0.05)
    hangs = Event()

    def send(_address: str, _body: bytes) -> None:
        hangs.wait()

    hook = Webhook("http://a.example", "json", send)
    for _ in range(3 * MOST_WAITING):
        hook.tell(NOTICE)
    hook.close()

    hangs.set()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("$HOOK", "the variable HOOK is not set"),
        ("$OTHER", "OTHER is not the address of a web service"),
        ("hooks.example/a", "the text is not the address of a web service"),
        ("file:///etc/passwd", "the text is not the address of a web service"),
        ("http://user:pass-word-9@127.0.0.1/x", "the text is not the address of a web service"),
        ("http://a:b:c/", "the text is not the address of a web service"),
        ("http://[", "the text is not the address of a web service"),
    ],
)
def test_an_address_that_is_none_is_refused(given: str, what: str) -> None:
    """With the place and the way out."""
    with pytest.raises(UsageError) as refused:
        resolve_address(given, {"OTHER": "secret-value"})

    assert (refused.value.what, refused.value.where) == (what, "notify.webhook")
    assert "secret-value" not in str(refused.value)
