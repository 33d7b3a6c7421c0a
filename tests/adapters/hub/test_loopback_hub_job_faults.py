"""What can be made to go wrong with jobs of the loopback Hub."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask, RaisedError
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub, wait_for  # noqa: F401 - the fixtures `hub` and `ask`

SAVES = """
import sys, time
open("/out/first.safetensors", "w").write("whole")
time.sleep(0.1)
half = open("/out/second.safetensors", "w")
half.write("half"); half.flush()
print("saving", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_bucket(hub: LoopbackHub) -> Iterator[None]:
    """Begin each test with an empty bucket, and end it with an account that pays."""
    hub.add_bucket("me/kept")
    yield
    hub.accounts.users["me"].pays = True


@pytest.mark.parametrize("when", [{"at_line": "^saving$"}, {"at_file": "second*"}, {"after_s": 60}, None], ids=str)
def test_machine_gone(hub: LoopbackHub, ask: Ask, when: dict[str, Any] | None) -> None:
    """Everything is killed and the disk wiped: what had not arrived is lost, what is half never comes."""
    if when is not None:
        hub.jobs.mishap("machine_gone", "run=gone", **when)
    ask(
        "job_id = python(text, volumes=[bucket('/out')], labels={'run': 'gone'}); at_stage(job_id, 'RUNNING')",
        text=SAVES,
    )
    if when is None or "after_s" in when:
        wait_for(lambda: hub.jobs.newest.output)
        wait_for(lambda: hub.buckets["me/kept"].files)
        hub.clock.advance(61)
        if when is None:
            hub.jobs.lose_machine(hub.jobs.newest.id)
    assert ask("ended(job_id)") == ["ERROR", "Job failed: the node was lost"]
    assert hub.buckets["me/kept"].contents in ({"first.safetensors": b"whole"}, {})
    assert ask("ended(python('print(1)', labels={'run': 'gone'}))")[0] == "COMPLETED"


def test_writes_that_had_not_arrived_are_lost_with_the_machine(hub: LoopbackHub, ask: Ask) -> None:
    """Whole or not."""
    hub.jobs.write_delay_s = 5.0
    hub.jobs.mishap("machine_gone", at_line="saving")
    assert ask("ended(python(text, volumes=[bucket('/out')]))[0]", text=SAVES) == "ERROR"
    assert hub.buckets["me/kept"].contents == {}


def test_attempts(hub: LoopbackHub, ask: Ask) -> None:
    """A job that fails starts again on a fresh disk, as often as was asked; its log goes on."""
    hub.jobs.mishap("machine_gone", at_line="ready", times=2)
    text = "import os; print(os.listdir()); open('x', 'w'); print('ready', flush=True); __import__('time').sleep(0.1)"
    assert ask("ended(python(text, attempts=3))", text=text) == ["COMPLETED", None]
    assert hub.jobs.newest.starts == 3
    assert hub.jobs.newest.output == ["[]", "ready"] * 3
    assert ask("ended(python('exit(1)', attempts=2))")[0] == "ERROR"
    assert hub.jobs.newest.starts == 2


def test_out_of_memory_and_of_credit(hub: LoopbackHub, ask: Ask) -> None:
    """Both are told in the status; without credit nothing more starts."""
    hub.jobs.mishap("out_of_memory", at_line="big")
    text = "print('big', flush=True); import time; time.sleep(60)"
    assert ask("ended(python(text))", text=text) == ["ERROR", "Job failed with exit code: 137. Reason: OOMKilled"]
    hub.jobs.mishap("out_of_credit", at_line="big", message="No credit")
    assert ask("ended(python(text))", text=text) == ["ERROR", "No credit"]
    assert "402" in ask("error_of(run, 'true')[1]")


def test_stuck(hub: LoopbackHub, ask: Ask) -> None:
    """A job may wait for its hardware for ever, or for a time, and be cancelled meanwhile; the wait counts for no timeout."""
    hub.jobs.mishap("stuck", times=None, message="Waiting for hardware", markers=3)
    ask("job_id = run('true')")
    wait_for(lambda: hub.jobs.newest.message)
    hub.clock.advance(7200)
    told = ask("job = api.inspect_job(job_id=job_id); [job.status.stage, job.status.message, job.started_at]")
    assert told == ["SCHEDULING", "Waiting for hardware", None]
    assert [line[:15] for _, line in hub.jobs.newest.lines] == ["===== Job start"] * 3
    assert ask("api.cancel_job(job_id=job_id); ended(job_id)") == ["CANCELED", None]
    ask("job_id = run('true')")
    hub.heal()
    assert ask("ended(job_id)") == ["COMPLETED", None]
    hub.jobs.mishap("stuck", after_s=600)
    ask("job_id = run('true')")
    hub.clock.advance(601)
    assert ask("ended(job_id)[0]") == "COMPLETED"
    hub.jobs.mishap("unpullable", "name=busy")
    assert ask("ended(run('true', name='busy'))")[1].startswith("Failed to pull image")


def test_submission_whose_answer_is_lost(hub: LoopbackHub, ask: Ask) -> None:
    """The job runs, and is found by its label."""
    hub.mute("^POST /api/jobs/me$")
    with pytest.raises(RaisedError, match="RemoteProtocolError"):
        ask("run('true', labels={'key': 'k1'})")
    assert ask("[job.labels['key'] for job in api.list_jobs(namespace='me', labels={'key': 'k1'})]") == ["k1"]
    hub.cut("^POST /api/jobs/me$", times=1)
    with pytest.raises(RaisedError, match="RemoteProtocolError"):
        ask("run('true', labels={'key': 'k2'})")
    assert ask("list(api.list_jobs(namespace='me', labels={'key': 'k2'}))") == []


@pytest.mark.parametrize("status", [401, 402, 403, 404, 409, 429, 500, 502, 503, 504])
def test_refusals(hub: LoopbackHub, ask: Ask, status: int) -> None:
    """Each call of jobs can be refused; submission is never sent twice by the client."""
    headers = {"Retry-After": "7"} if status == 429 else {}
    hub.fail("^(POST|GET) /api/jobs/me(/|$)", status=status, times=4, headers=headers)
    for call in (
        "run, 'true'",
        "api.inspect_job, job_id='0' * 24",
        "api.cancel_job, job_id='0' * 24",
        "logs, '0' * 24",
    ):
        assert str(status) in ask(f"error_of({call})[1]")
    assert len(hub.asked("^POST /api/jobs/me$")) == 1


def test_answers_that_are_no_answers(hub: LoopbackHub, ask: Ask) -> None:
    """JSON that ends in the middle; a listing that never comes is asked for again by the client."""
    hub.truncate("^GET /api/jobs/me/", 40)
    ask("job_id = run('true')")
    assert ask("error_of(api.inspect_job, job_id=job_id)[0]") == "JSONDecodeError"
    hub.hang("^GET /api/jobs/me", times=1)
    assert ask("[job.id == job_id for job in api.list_jobs(namespace='me', timeout=0.05)][0]")
    assert len(hub.asked("^GET /api/jobs/me$")) == 2


def test_token_taken_back_while_running(hub: LoopbackHub, ask: Ask) -> None:
    """Everything is refused from then on, for who follows the job and in the job itself; the job goes on."""
    hub.add_token("hf_short")
    hub.add_model("me/target")
    text = """
import time, huggingface_hub
print("ready", flush=True)
time.sleep(0.2)
try:
    huggingface_hub.HfApi().upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="me/target")
except Exception as error:
    print(error.response.status_code)
"""
    ask("job_id = python(text, secrets={'HF_TOKEN': 'hf_short'})", text=text)
    wait_for(lambda: "ready" in hub.jobs.newest.output)
    hub.revoke("hf_short")
    assert "401" in ask("error_of(as_whom('hf_short').inspect_job, job_id=job_id, namespace='me')[1]")
    assert ask("error_of(as_whom('hf_short').inspect_job, job_id=job_id)") == ["HfHubHTTPError", "Invalid user token."]
    assert ask("ended(job_id)[0]") == "COMPLETED"
    assert hub.jobs.newest.output == ["ready", "401"]
