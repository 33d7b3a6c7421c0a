"""Jobs at times, on the clock of the loopback Hub."""

from datetime import UTC, datetime
from functools import partial

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub, wait_for  # noqa: F401 - the fixtures `hub` and `ask`
from tests.helpers.hub.jobs.cron import next_run

CREATE = "kept = api.create_scheduled_job(image='python:3.12', command=command, schedule=schedule, timeout='2h', labels={'run': 's'}, **more)"


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [
        ("@hourly", "2026-03-01T11:00"),
        ("@daily", "2026-03-02T00:00"),
        ("@weekly", "2026-03-08T00:00"),
        ("@monthly", "2026-04-01T00:00"),
        ("@yearly", "2027-01-01T00:00"),
        ("*/5 * * * *", "2026-03-01T10:25"),
        ("0 9 * * 1", "2026-03-02T09:00"),
        ("30 6 1,15 * *", "2026-03-15T06:30"),
        ("0 0 13 * 5", "2026-03-06T00:00"),
        ("0 12 29 2 *", "2028-02-29T12:00"),
        ("0 8-10/2 * * 7", "2026-03-08T08:00"),
    ],
)
def test_times(schedule: str, runs: str) -> None:
    """When a schedule comes next after Sunday, 2026-03-01, 10:20:30."""
    after_s = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC).timestamp()
    assert datetime.fromtimestamp(next_run(schedule, after_s), UTC).isoformat()[:16] == runs


@pytest.mark.parametrize("schedule", ["", "daily", "* * * *", "60 * * * *", "0 0 31 2 *", "a * * * *"])
def test_what_is_no_schedule_is_refused(ask: Ask, schedule: str) -> None:
    """With 400."""
    text = f"error_of(api.create_scheduled_job, image='python:3.12', command=['true'], schedule={schedule!r})[0]"
    assert ask(text) == "BadRequestError"


def test_runs_at_its_times(hub: LoopbackHub, ask: Ask) -> None:
    """As often as its time comes, with what was sent; its jobs say where they come from."""
    told = ask(
        f"{CREATE}; [kept.schedule, kept.suspend, kept.job_spec.timeout, kept.job_spec.labels['run'], kept.status.last_job]",
        **asked(),
    )
    assert told == ["@hourly", False, 7200, "s", None]
    for _ in range(2):
        again = partial(has_run_since, hub, runs(hub))
        hub.clock.advance(3600)
        wait_for(again)
        job = hub.jobs.newest
        assert ask("ended(job_id)[0]", job_id=job.id) == "COMPLETED"
        assert (job.initiator["type"], job.timeout_s, job.labels["run"]) == ("scheduled-job", 7200, "s")
    assert ask("api.inspect_scheduled_job(scheduled_job_id=kept.id).status.last_job.id") == hub.jobs.newest.id
    ask("api.delete_scheduled_job(scheduled_job_id=kept.id)")
    assert ask("error_of(api.inspect_scheduled_job, scheduled_job_id=kept.id)[0]") == "JobNotFoundError"


def test_changes(hub: LoopbackHub, ask: Ask) -> None:
    """It is listed, suspended, resumed, given other times and labels, and removed."""
    ask(CREATE, **asked(suspend=True))
    assert ask("[one.id == kept.id for one in api.list_scheduled_jobs(labels={'run': 's'})]") == [True]
    hub.clock.advance(7200)
    ask("api.resume_scheduled_job(scheduled_job_id=kept.id)")
    assert ask("api.update_scheduled_job_schedule(scheduled_job_id=kept.id, schedule='@yearly').schedule") == "@yearly"
    assert ask("api.update_scheduled_job_labels(scheduled_job_id=kept.id, labels={'run': 't'}).job_spec.labels") == {
        "run": "t"
    }
    assert ask("api.list_scheduled_jobs(labels={'run': 's'})") == []
    ask("api.suspend_scheduled_job(scheduled_job_id=kept.id)")
    assert ask("api.inspect_scheduled_job(scheduled_job_id=kept.id).status.next_job_run_at") is None
    ask("api.delete_scheduled_job(scheduled_job_id=kept.id)")
    assert ask("api.list_scheduled_jobs()") == []


def test_one_at_a_time(hub: LoopbackHub, ask: Ask) -> None:
    """A run that is asked for while another runs is refused, one whose time comes is left out, unless several may run."""
    before = len(hub.jobs.all)
    ask(CREATE, **asked(command=["sleep", "60"]))
    first = ask("api.trigger_scheduled_job(scheduled_job_id=kept.id).id")
    assert "409" in ask("error_of(api.trigger_scheduled_job, scheduled_job_id=kept.id)[1]")
    (kept,) = hub.jobs.scheduled.values()
    next_s = kept.next_s
    hub.clock.advance(3600)
    wait_for(lambda: kept.next_s != next_s)
    assert len(hub.jobs.all) == before + 1
    ask("api.cancel_job(job_id=first); ended(first); api.delete_scheduled_job(scheduled_job_id=kept.id)", first=first)


def asked(**more: object) -> dict[str, object]:
    """Return the values that `CREATE` needs."""
    command = more.pop("command", ["true"])
    return {"command": command, "schedule": "@hourly", "more": more}


def has_run_since(hub: LoopbackHub, before: int) -> bool:
    """Return whether scheduled ones have started more jobs than before."""
    return runs(hub) > before


def runs(hub: LoopbackHub) -> int:
    """Return how many jobs scheduled ones have started."""
    return sum(job.initiator["type"] == "scheduled-job" for job in hub.jobs.all.values())
