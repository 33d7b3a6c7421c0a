"""All that a test holds in its hand."""

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from tempfile import TemporaryDirectory
from threading import Thread

from tests.helpers.hub import faults, routes
from tests.helpers.hub.exchange import HubError, Reply, Request
from tests.helpers.hub.faults import Fault, Faults
from tests.helpers.hub.jobs import lifecycle
from tests.helpers.hub.listening import LOOPBACK, Listener
from tests.helpers.hub.world import World

POLL_S = 0.02  # how long the end of a test waits for a listener to notice


class LoopbackHub(World):
    """A Hub, with the user `me` whose token may write.

    Attributes:
        latency_s: Added to each answer; several connections wait at the same time.
        token: In `variables`; None for a process without.
        faults: What goes wrong.
        failures: Tracebacks of this Hub's own mistakes; any of them fails the test.
    """

    def __init__(self, latency_s: float, home: str) -> None:
        super().__init__()
        self.latency_s = latency_s
        self.home = home
        self.faults = Faults()
        self.failures: list[str] = []
        self.add_user("me")
        self.token: str | None = self.add_token("hf_me_write").text
        self._numbers = count(1)
        self._listeners = [Listener(self, outside=False), Listener(self, outside=True)]
        self.address, self.outside = (f"http://{LOOPBACK}:{one.server_port}" for one in self._listeners)
        told = ("HF_ENDPOINT", "HOLDFAST_VIEWER", "HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "no_proxy")
        self.jobs.network = {name: self.variables[name] for name in told}

    @property
    def viewer(self) -> str:
        """Address of the dataset viewer."""
        return self.outside

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs to know to take this for the Hub, with caches of its own."""
        return {
            "HF_ENDPOINT": self.address,
            "HOLDFAST_VIEWER": self.viewer,
            "HF_TOKEN": self.token or "",
            "HUGGING_FACE_HUB_TOKEN": "",
            "HF_HOME": self.home,
            "HF_HUB_CACHE": f"{self.home}/hub",
            "HF_DATASETS_CACHE": f"{self.home}/datasets",
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "no_proxy": "*",
        }

    def asked(self, pattern: str) -> list[Request]:
        """Return the requests in whose line (`GET /api/models/acme/small?blobs=True`) a regular expression is found."""
        return [request for request in self.requests if re.search(pattern, request.told)]

    def fail(
        self,
        pattern: str,
        *,
        status: int,
        times: int | None = None,
        message: str = "",
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse requests.

        Args:
            pattern: Which, by a regular expression: `/api/models/`, `^POST .*/commit/`.
            status: 429, 500, 503, 403.
            times: How often; None for ever.
            message: In `X-Error-Message` and the body.
            code: In `X-Error-Code`.
            headers: Beside those, `{"Retry-After": "1"}`.
        """
        refused = faults.refusal(status, message=message, code=code, headers=headers)
        self.faults.add(Fault(pattern=re.compile(pattern), kind="fail", left=times, refusal=refused))

    def slow(self, pattern: str, seconds: float, *, times: int | None = None) -> None:
        """Answer requests late."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="slow", left=times, seconds=seconds))

    def hang(self, pattern: str, *, times: int | None = None) -> None:
        """Never answer requests; their connections stay open until the test ends."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="hang", left=times))

    def break_off(self, pattern: str, after_bytes: int, *, times: int | None = 1) -> None:
        """End connections when so many bytes of the body are sent, having told of all."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="break", left=times, after_bytes=after_bytes))

    def cut(self, pattern: str, *, times: int | None = None) -> None:
        """End connections without an answer."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="cut", left=times))

    def mute(self, pattern: str, *, times: int | None = 1) -> None:
        """Do what requests ask for, and end their connections without an answer: a job that was submitted, and nobody knows."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="mute", left=times))

    def truncate(self, pattern: str, after_bytes: int, *, times: int | None = 1) -> None:
        """Answer with a part of the body as if that were all: JSON that ends in the middle."""
        self.faults.add(Fault(pattern=re.compile(pattern), kind="truncate", left=times, after_bytes=after_bytes))

    def refuse_commits(self, pattern: str = "", *, times: int | None = None) -> None:
        """Refuse commits, with 403, as for a token that was taken back; `pattern` says to which repositories."""
        refused = faults.refusal(403, message="Authorization error.")
        self.faults.add(
            Fault(pattern=re.compile(rf"^POST .*{pattern}.*/commit/"), kind="fail", left=times, refusal=refused)
        )

    def lose(self, *endings: str) -> None:
        """Take commits and forget the files whose names end so."""
        self.lost = endings

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        self.faults.clear()
        self.lost = ()
        self.jobs.heal()
        self.clock.skew_s = 0.0
        self.clock.stir()

    def revoke(self, token: str) -> None:
        """Take a token back: whatever comes with it is 401 from now on."""
        del self.accounts.tokens[token]

    def answer(self, request: Request) -> Reply:
        """Return what is said to a request; a mistake of this Hub is kept and told as 500."""
        try:
            with self.lock:
                return routes.answer(self, request)
        except Exception:  # noqa: BLE001 - any mistake, which `loopback_hub` raises at the end
            self.failures.append(f"{request.told}\n{traceback.format_exc()}")
            return HubError(500, "A mistake of the loopback Hub").reply()

    def request_id(self) -> str:
        """Return the next request's number, in the shape of the Hub's."""
        return f"Root=1-00000000-{next(self._numbers):024x}"

    def start(self) -> None:
        for listener in self._listeners:
            Thread(target=listener.serve_forever, args=(POLL_S,), daemon=True).start()

    def close(self) -> None:
        """End all jobs, and all connections, also those that wait."""
        lifecycle.end_all(self)
        ending = [Thread(target=listener.shutdown) for listener in self._listeners]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        for listener in self._listeners:
            listener.end_connections()
            listener.server_close()


@contextmanager
def loopback_hub(*, latency_s: float = 0.0) -> Iterator[LoopbackHub]:
    """Run a Hub for as long as it is needed.

    Args:
        latency_s: Added to each answer, for benchmarks.

    Raises:
        AssertionError: This Hub made a mistake; nothing that a client may send should bring it to that.
    """
    with TemporaryDirectory(prefix="hub-", ignore_cleanup_errors=True) as home:
        hub = LoopbackHub(latency_s, home)
        hub.start()
        try:
            yield hub
        finally:
            hub.close()
    assert not hub.failures, "\n".join(hub.failures)
