"""What goes wrong between here and the Hub: each ends soon, says why, and keeps the token to itself."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread
from typing import Any

import pytest

from holdfast.adapters.hub.answers import ResponseCache, start
from holdfast.adapters.hub.client import HubClient
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.settings import HubSettings, read_settings, read_timeout, why_offline
from holdfast.adapters.hub.wire import CircuitBreaker, HubRequest, Reply
from holdfast.core.errors import SourceError, UsageError
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub_asking import MINE, client, reference

Ask = Callable[[HubClient], object]
SMALL = reference("model", "acme/small")
QUESTIONS: dict[str, Ask] = {
    "account": lambda hub: hub.account(),
    "repo": lambda hub: hub.repo(SMALL),
    "dataset": lambda hub: hub.dataset(reference("dataset", "acme/chats")),
    "model": lambda hub: hub.model(SMALL),
    "tensors": lambda hub: hub.tensors(SMALL),
    "target": lambda hub: hub.target(reference("target", "me/new")),
    "shelf": lambda hub: hub.repo_tree(SMALL),
}
SOON_S = 5.0
"""A hang would be longer: the tests below wait at most half a second each."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub with a model and a dataset, that this process may ask."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with loopback_hub() as hub:
        hub.add_model("acme/small", {"config.json": "{}"})
        hub.add_dataset("acme/chats", {"train.jsonl": '{"text": "a"}\n'})
        yield hub


def refusal(ask: Callable[[], object]) -> SourceError:
    """Return what is said where nothing can be."""
    with pytest.raises(SourceError) as caught:
        ask()
    assert MINE not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_hub_that_is_down_is_told(hub: LoopbackHub, question: str, status: int) -> None:
    """Every question tells the status, and nothing is asked again and again."""
    hub.fail("/api/", status=status)

    assert str(status) in refusal(lambda: QUESTIONS[question](client(hub))).what
    assert len(hub.requests) <= 4


def test_too_many_requests_are_waited_out_once_if_that_is_soon(hub: LoopbackHub) -> None:
    """A Hub that asks to come back in a second is asked again, once."""
    hub.fail("/api/models/", status=429, times=1, headers={"RateLimit": '"api";r=0;t=0'})
    assert client(hub).repo(SMALL).exists

    hub.fail("/api/models/", status=503, times=1, headers={"Retry-After": "0"})
    assert client(hub).repo(SMALL).exists


@pytest.mark.parametrize("headers", [{"RateLimit": '"api";r=0;t=250'}, {"RateLimit": "", "Retry-After": "soon"}])
def test_too_many_requests_are_not_waited_out_if_that_is_long(hub: LoopbackHub, headers: dict[str, str]) -> None:
    """Nobody waits minutes for a check."""
    hub.fail("/api/models/", status=429, headers=headers)
    begun_s = time.monotonic()

    assert "429" in refusal(lambda: client(hub).repo(SMALL)).what
    assert time.monotonic() - begun_s < SOON_S
    assert len(hub.requests) == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_hub_that_hangs_hangs_nobody(hub: LoopbackHub, question: str) -> None:
    """A question without an answer ends in its time."""
    hub.hang(".")
    begun_s = time.monotonic()

    assert "did not answer within" in refusal(lambda: QUESTIONS[question](client(hub, timeout_s=0.4))).what
    assert time.monotonic() - begun_s < SOON_S


def test_a_hub_that_hangs_is_found_out_once(hub: LoopbackHub) -> None:
    """After one question has waited, no other is sent, and all say why."""
    hub.hang(".")
    asked = client(hub, timeout_s=1.0)
    first = refusal(asked.account)
    said = {refusal(lambda ask=ask: ask(asked)).what for ask in QUESTIONS.values()}  # type: ignore[misc]  # a lambda with a default

    assert said <= {first.what, "the Hub took longer than 1 s in all"}
    assert len(hub.asked("/api/")) == 1


def test_all_questions_together_have_one_limit(hub: LoopbackHub) -> None:
    """A Hub that answers slowly, but does answer, is left alone when the time of the check is over."""
    hub.slow("/api/", 0.4)
    asked = client(hub, timeout_s=1.0)
    begun_s = time.monotonic()
    said: list[object] = []
    for number in range(9):
        try:
            said.append(asked.repo(reference("dataset", f"acme/chats{number}")).exists)
        except SourceError as error:
            said.append(error.what)

    assert said[0] is False
    assert said[-1] == "the Hub took longer than 1 s in all"
    assert time.monotonic() - begun_s < SOON_S


def test_an_answer_that_drips_in_is_given_up() -> None:
    """Each byte comes in time, and the whole of it never."""
    settings = HubSettings(endpoint="http://127.0.0.1:9", timeout_s=0.4)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        dripping = pool.submit(_drip, server)
        asked = HubClient(
            HubSettings(endpoint=address, timeout_s=settings.timeout_s), answers=ResponseCache(), reach=CircuitBreaker()
        )
        begun_s = time.monotonic()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
            assert "took" in refusal(lambda: asked.repo(SMALL)).what
        assert time.monotonic() - begun_s < SOON_S
        dripping.result(timeout=SOON_S)


def _drip(server: socket.socket) -> None:
    """Answer one request with a byte every now and then, until nobody listens any more."""
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            for _ in range(1000):
                connection.sendall(b" ")
                connection.settimeout(0.01)
                try:
                    if connection.recv(1) == b"":
                        return
                except TimeoutError:
                    pass
        except OSError:
            return


def test_a_hub_that_is_not_there_is_told(hub: LoopbackHub) -> None:
    """A port where nobody listens is found out at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"http://127.0.0.1:{server.getsockname()[1]}"
    asked = HubClient(
        HubSettings(endpoint=nobody, find_token=lambda: MINE), answers=ResponseCache(), reach=CircuitBreaker()
    )

    assert {refusal(lambda ask=ask: ask(asked)).what for ask in QUESTIONS.values()} == {"the Hub cannot be reached"}  # type: ignore[misc]  # a lambda with a default
    assert hub.requests == []


def test_an_answer_that_breaks_off_is_asked_for_once_more(hub: LoopbackHub) -> None:
    """Once is an accident; twice is told."""
    hub.break_off("/api/models/", 10, times=1)
    assert client(hub).repo(SMALL).exists

    hub.break_off("/api/models/", 10, times=None)
    assert refusal(lambda: client(hub).repo(SMALL)).what == "the Hub broke off its answer"

    hub.heal()
    hub.cut("/api/models/")
    assert refusal(lambda: client(hub).repo(SMALL)).what == "the Hub broke off its answer"


@pytest.mark.parametrize(
    "body", ["", "<html>Log in to the network</html>", "[1, 2", "null", "[]", '"text"', "3", "[" * 100_000]
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_no_answer_of_the_hub_is_told(hub: LoopbackHub, question: str, body: str) -> None:
    """The page of a hotel's network, say: no question takes that for an answer, and none breaks."""
    page = hub.add_page("/anything", body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.adapters.hub.session.HubSession.api", _always(page))
        refusal(lambda: QUESTIONS[question](client(hub)))


def _told(ask: Callable[[], object]) -> str:
    """Return the reason that is given, or what is answered."""
    try:
        return str(ask())
    except SourceError as error:
        return error.what


def _always(address: str) -> Any:
    def api(self: HubSession, _: str, **__: str) -> Reply:
        return self.ask(HubRequest(url=address))

    return api


@pytest.mark.parametrize("odd", ['{"siblings": 3, "sha": [], "gated": {}, "cardData": 1, "orgs": {}, "auth": 5}', "{}"])
def test_fields_of_another_form_are_passed_over(hub: LoopbackHub, odd: str) -> None:
    """An object without what is known of it says nothing, and breaks nothing but by a reason."""
    page = hub.add_page("/anything", odd)
    for ask in QUESTIONS.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("holdfast.adapters.hub.session.HubSession.api", _always(page))
            said = _told(lambda ask=ask: ask(client(hub)))  # type: ignore[misc]  # a lambda with a default
        assert "asking the Hub failed" not in said


def test_a_host_that_is_no_hub_does_not_say_that_nothing_exists(hub: LoopbackHub) -> None:
    """404 of a web server is no answer to whether there is a model."""
    settings = HubSettings(endpoint=hub.outside, find_token=lambda: MINE)
    asked = HubClient(settings, answers=ResponseCache(), reach=CircuitBreaker())
    hub.add_page("/api/models/acme/small", "<html>not found</html>", status=404)

    assert refusal(lambda: asked.repo(SMALL)).what == "the Hub answered 404"


@pytest.mark.parametrize("question", ["repo", "dataset", "model", "tensors"])
def test_a_revoked_token_is_told_by_every_question(hub: LoopbackHub, question: str) -> None:
    """The Hub answers nothing at all to such a token, and it is no reason to say that a model is not there."""
    assert refusal(lambda: QUESTIONS[question](client(hub, "hf_revoked"))).what == "the Hub refuses the token"


def test_a_viewer_that_fails_takes_nothing_away(hub: LoopbackHub) -> None:
    """What the card and the files say is known without it."""
    hub.fail("^GET /(info|size)", status=500)

    found = client(hub).dataset(reference("dataset", "acme/chats"))

    assert list(found.configs["default"]) == ["train"]
    assert found.columns == ()


def test_a_viewer_that_hangs_takes_nothing_away(hub: LoopbackHub) -> None:
    """It is another host; the Hub itself still answers."""
    hub.hang("^GET /(info|size)")
    asked = client(hub, timeout_s=0.6)

    assert list(asked.dataset(reference("dataset", "acme/chats")).configs["default"]) == ["train"]


def test_a_token_that_cannot_be_found_is_told() -> None:
    """Where the token has to be fetched first and that fails, its reason may hold secrets, and is not told."""

    def find() -> str:
        raise RuntimeError(f"exchange of {MINE} failed")

    settings = HubSettings(endpoint="http://127.0.0.1:9", find_token=find)
    asked = HubClient(settings, answers=ResponseCache(), reach=CircuitBreaker())

    assert refusal(asked.account).what == "asking the Hub failed: RuntimeError"


def test_offline_by_its_variable_nothing_is_asked(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """huggingface_hub's own guard is heeded, even if somebody opens the Hub in spite of it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    assert refusal(lambda: client(hub).repo(SMALL)).what == "HF_HUB_OFFLINE is set"
    assert hub.requests == []


def test_questions_at_the_same_time_are_one(hub: LoopbackHub) -> None:
    """Whoever asks what is being asked already gets the same answer."""
    hub.slow("/api/models/acme/small", 0.1)
    asked = client(hub)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: asked.model(SMALL), range(8)))

    assert all(each is found[0] for each in found)
    assert len(hub.asked("/api/models/acme/small")) == 1


def test_what_failed_is_not_remembered_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure counts for seconds, an answer for minutes."""
    now = 1000.0
    monkeypatch.setattr("holdfast.adapters.hub.answers.time.monotonic", lambda: now)
    answers, worked = ResponseCache(), []

    def work() -> str:
        worked.append(now)
        if len(worked) == 1:
            raise SourceError("no", where="", fix="")
        return "yes"

    assert isinstance(answers.find("a", work).exception(timeout=5), SourceError)
    now += 20
    assert isinstance(answers.find("a", work).exception(timeout=5), SourceError)
    now += 20
    assert answers.find("a", work).result(timeout=5) == "yes"
    now += 200
    assert answers.find("a", work).result(timeout=5) == "yes"
    now += 200
    answers.find("a", work).result(timeout=5)
    assert worked == [1000.0, 1040.0, 1440.0]


def test_work_that_never_ends_keeps_nobody_from_leaving() -> None:
    """The threads that ask are daemons: Python ends without them."""
    names: list[bool] = []

    def work() -> None:
        names.append(current_thread().daemon)

    start(work).result(timeout=5)
    assert names == [True]


@pytest.mark.parametrize("said", ["soon", "0", "-1", "inf", "nan"])
def test_a_time_limit_that_is_none_is_a_wrong_question(said: str) -> None:
    """What cannot be meant is refused with the variable's name."""
    with pytest.raises(UsageError) as caught:
        read_timeout({"HOLDFAST_HUB_TIMEOUT_S": said})
    assert caught.value.where == "HOLDFAST_HUB_TIMEOUT_S"


def test_the_environment_says_how_the_hub_is_asked() -> None:
    """Address, viewer and patience come from variables; without them they are the Hub's own."""
    asked = read_settings(
        {"HF_ENDPOINT": "http://127.0.0.1:1/", "HOLDFAST_VIEWER": "http://127.0.0.1:2", "HOLDFAST_HUB_TIMEOUT_S": "3"}
    )

    assert (asked.endpoint, asked.viewer, asked.timeout_s) == ("http://127.0.0.1:1", "http://127.0.0.1:2", 3.0)
    usual = read_settings({})
    assert (usual.timeout_s, usual.viewer.split("//")[1].split(".")[0]) == (10.0, "datasets-server")
    assert read_settings({"HF_ENDPOINT": "http://127.0.0.1:1"}).viewer == ""
    assert why_offline({}) == ""
    assert why_offline({"TRANSFORMERS_OFFLINE": "true"}) == "TRANSFORMERS_OFFLINE"


def test_settings_do_not_show_a_token() -> None:
    """Neither a request nor the settings show it where they are printed."""
    assert MINE not in repr(HubSettings(endpoint="x", find_token=lambda: MINE))
