"""A host that cannot be connected to is known at once, with the reason; a proxy stands in the place of the host."""

import socket
from collections.abc import Iterator

import pytest

from holdfast.adapters.hub.reach import why_unreachable
from holdfast.adapters.tokens.loading import TokenizerRequest, load_tokenizer
from holdfast.core.errors import SourceError


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a host that takes connections; no proxy is set."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def refusing() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_host_that_takes_connections_is_reached(listening: int) -> None:
    """Nothing is in the way."""
    assert why_unreachable(f"http://127.0.0.1:{listening}/api") == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_the_reason_names_the_host(listening: int, host: str) -> None:
    """A refused connection, and a name that does not resolve."""
    assert listening
    assert why_unreachable(f"http://{host}:{refusing()}").startswith(f"{host}: ")


@pytest.mark.parametrize("written", ["http://127.0.0.1:{}", "127.0.0.1:{}"])
def test_a_proxy_is_what_has_to_be_reached(listening: int, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    """The host itself need not resolve here; one that is excepted does."""
    monkeypatch.setenv("https_proxy", written.format(listening))
    assert why_unreachable("https://no-such-host.invalid") == ""
    monkeypatch.setenv("no_proxy", "no-such-host.invalid")
    assert why_unreachable("https://no-such-host.invalid")


@pytest.mark.train
def test_a_tokenizer_of_a_hub_out_of_reach(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not asked for file by file: the answer says why, and that nothing was downloaded before."""
    assert listening
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{refusing()}")
    with pytest.raises(SourceError, match=r"was not downloaded before, and the Hub cannot be reached \(127\.0\.0\.1: "):
        load_tokenizer(TokenizerRequest(path="acme/not-there"))
