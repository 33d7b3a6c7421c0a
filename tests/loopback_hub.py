"""A Hub on loopback that takes models: what `Trainer.push_to_hub` asks of the real one, and no more.

Source: the requests that huggingface_hub 2.4 makes, as seen from here.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class LoopbackHub(ThreadingHTTPServer):
    """Keeps what is committed.

    Attributes:
        files: Content of each file of the one repository.
        created: What was asked for when it was created.
        commits: How many there were.
        loses: End of the names of files that it takes and forgets.
    """

    def __init__(self, loses: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.created: dict[str, Any] = {}
        self.commits = 0
        self.loses = loses

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs to know to take it for the Hub."""
        return {"HF_ENDPOINT": self.address, "HF_TOKEN": "any", "HF_HUB_OFFLINE": "0", "no_proxy": "*"}


@contextmanager
def loopback_hub(*, loses: tuple[str, ...] = ()) -> Iterator[LoopbackHub]:
    """Run a Hub for as long as it is needed."""
    with LoopbackHub(loses) as hub:
        Thread(target=hub.serve_forever, daemon=True).start()
        yield hub
        hub.shutdown()


class Answer(BaseHTTPRequestHandler):
    """Answers one request."""

    server: LoopbackHub

    def do_GET(self) -> None:
        found = [
            {"type": "file", "path": path, "size": len(text), "oid": "0"} for path, text in self.server.files.items()
        ]
        self._answer(found if "/tree/" in self.path else {"name": "me", "type": "user", "auth": {}})

    def do_HEAD(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/repos/create"):
            self.server.created = json.loads(body)
            self._answer({"url": f"{self.server.address}/me/model", "name": "me/model"})
        elif "/preupload/" in self.path:
            paths = [file["path"] for file in json.loads(body)["files"]]
            self._answer({"files": [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]})
        elif "/commit/" in self.path:
            self._commit([json.loads(line) for line in body.splitlines()])
            self._answer({"commitUrl": f"{self.server.address}/me/model/commit/0", "commitOid": "0"})
        else:
            self._answer({"errors": [], "warnings": []})

    def _commit(self, lines: list[dict[str, Any]]) -> None:
        self.server.commits += 1
        for line in lines:
            if line["key"] == "file" and not line["value"]["path"].endswith(self.server.loses or ("/",)):
                self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])

    def _answer(self, value: Any) -> None:
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
