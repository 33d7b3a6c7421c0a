"""The log stream of the loopback Hub, as the real client reads it and with each trap."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`

LINES = [f"line {n} ä😀" for n in range(6)]


@pytest.fixture(scope="module", name="job")
def one_job(whole: LoopbackHub, ask: Ask) -> str:
    """A job that has ended and wrote `LINES`."""
    text = "for n in range(6): print('line', n, 'ä😀')"
    assert ask("job_id = python(text); [job_id, ended(job_id)[0]]", text=text)[1] == "COMPLETED"
    return whole.jobs.newest.id


@pytest.fixture(autouse=True)
def unheard(hub: LoopbackHub) -> Iterator[None]:
    """Begin each test as if no stream had told anything, and hear soon when there is nothing more to tell."""
    for job in hub.jobs.all.values():
        job.heard = 0
    hub.jobs.keep_alive_s = 0.05
    yield
    hub.jobs.keep_alive_s = 30.0


def streamed(hub: LoopbackHub, job: str, *, bytes_at_most: int = 100_000, query: str = "") -> tuple[bytes, str]:
    """Return what a stream told, and how it ended: `end`, `cut` or `open`."""
    host, _, port = hub.address.removeprefix("http://").partition(":")
    connection = HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", f"/api/jobs/me/{job}/logs{query}", headers={"Authorization": "Bearer hf_me_write"})
    reply, told = connection.getresponse(), b""
    try:
        while len(told) < bytes_at_most and told.count(b": keep-alive") < 2:
            piece = reply.read1(4096)
            if not piece:
                return told, "end"
            told += piece
    except IncompleteRead as cut:
        return told + cut.partial, "cut"
    finally:
        connection.close()
    return told, "open"


def lines_of(told: bytes) -> list[str]:
    """Return the lines of whole events, without the Hub's own."""
    events = [json.loads(one[6:]) for one in told.decode().split("\n\n") if one.startswith("data: {")]
    return [event["data"] for event in events if not event["data"].startswith("===== Job started")]


def test_without_traps(hub: LoopbackHub, ask: Ask, job: str) -> None:
    """All lines, the last few, or those that come while they come."""
    assert ask("[logs(job), logs(job, tail=2), logs(job, follow=True)]", job=job) == [LINES, LINES[-2:], LINES]
    told, end = streamed(hub, job)
    assert (lines_of(told), end) == (LINES, "end")
    assert told.startswith(b'data: {"data": "===== Job started at 20')
    last, _ = streamed(hub, job, query="?tail=2")
    assert (lines_of(last), last.count(b"Job started")) == (LINES[-2:], 1)
    slow = "import time\nfor n in range(3): print(n, flush=True); time.sleep(0.05)"
    assert ask("logs(python(text), follow=True)", text=slow) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("wrong", "lines", "end"),
    [
        ({"close_after": 3}, LINES[:2], "end"),
        ({"cut_after": 3}, LINES[:2], "cut"),
        ({"lingers": True}, LINES, "open"),
        ({"empty": True}, [], "open"),
        ({"lose_tail": 2}, LINES[:4], "end"),
        ({"hold": 4}, LINES, "end"),
        ({"split": 5}, LINES, "end"),
        ({"doubled": True}, [line for line in LINES for _ in range(2)], "end"),
        ({"swapped": True}, [LINES[0], LINES[2], LINES[1], LINES[4], LINES[3], LINES[5]], "end"),
    ],
    ids=str,
)
def test_traps(hub: LoopbackHub, job: str, wrong: dict[str, Any], lines: list[str], end: str) -> None:
    """What each of them does to a stream."""
    hub.jobs.trap_logs(**wrong)
    told, ended = streamed(hub, job)
    assert (lines_of(told), ended) == (lines, end)


def test_torn_event(hub: LoopbackHub, ask: Ask, job: str) -> None:
    """The real client raises an exception for half an event."""
    hub.jobs.trap_logs(garbled=2)
    assert ask("error_of(logs, job)[0]", job=job) == "JSONDecodeError"


def test_lines_are_told_again_from_the_start(hub: LoopbackHub, ask: Ask, job: str) -> None:
    """A stream that is opened again begins again, or later; cuts go on from what was told before, a hundred times if need be."""
    hub.jobs.trap_logs(cut_after=1, times=5)
    assert [len(lines_of(streamed(hub, job)[0])) for _ in range(6)] == [0, 1, 2, 3, 4, 6]
    hub.heal()
    hub.jobs.trap_logs(lose_head=4)
    assert lines_of(streamed(hub, job)[0]) == LINES[3:]
    hub.heal()
    hub.jobs[job].heard = 0
    hub.jobs.trap_logs(cut_after=5, times=1)
    assert ask("logs(job, follow=True)", job=job)[:4] == LINES[:4]
    text = "for n in range(300): print(n)"
    many = ask("job_id = python(text); ended(job_id); job_id", text=text)
    hub.jobs.trap_logs(cut_after=3, times=100)
    ends = [streamed(hub, many) for _ in range(101)]
    assert [end for _, end in ends] == ["cut"] * 100 + ["end"]
    assert lines_of(ends[-1][0]) == [str(n) for n in range(300)]


def test_clocks(hub: LoopbackHub, ask: Ask, job: str) -> None:
    """Machines may be ahead of the Hub, whose snapshot then drops lines; the Hub may be ahead of everybody."""
    hub.jobs.machine_skew_s = 3600.0
    assert ask("logs(job)", job=job) == []
    assert ask("logs(job, follow=True)", job=job) == LINES
    hub.jobs.machine_skew_s = 0.0
    before = ask("api.inspect_job(job_id=job).created_at.timestamp()", job=job)
    hub.clock.skew_s = -7200.0
    assert ask("api.inspect_job(job_id=job).created_at.timestamp()", job=job) == before - 7200
    assert ask("logs(job)", job=job) == LINES


def test_stage_lags_behind_the_last_line(hub: LoopbackHub, ask: Ask) -> None:
    """The stream of a job can end while the Hub still calls the job running."""
    hub.jobs.stage_lag_s = 0.3
    told = ask(
        "job_id = python('print(1)'); [logs(job_id), api.inspect_job(job_id=job_id).status.stage, ended(job_id)[0]]"
    )
    assert told == [["1"], "RUNNING", "COMPLETED"]
