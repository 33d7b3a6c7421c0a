"""Scheduled runs on Hugging Face Jobs, which the loopback Hub has: its clock starts jobs, each in a folder of its own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import UNSET

import holdfast
from holdfast.adapters.backends.hf_jobs.schedules import HfJobsSchedules
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.resume.verb import resume
from holdfast.app.run.verb import run
from holdfast.app.runs.verb import runs
from holdfast.app.show.verb import show
from holdfast.app.stop.verb import stop
from holdfast.cli.text.answers import render_show
from holdfast.cli.text.remote import render_remote
from holdfast.core.errors import BackendError, UnreachableError, UsageError
from holdfast.core.run.event import RunScheduled
from holdfast.core.run.plan import Attempt
from holdfast.core.run.schedule import JobSchedule, parse_times
from holdfast.results.run import RemoteRunsResult, RunsResult
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub.fixtures import wait_for
from tests.helpers.hub.jobs.records import Job

SCRIPT = """\
import os, pathlib
assert not os.environ["HOLDFAST_RESUME"]
kept = pathlib.Path(os.environ["HOLDFAST_RUN"], "outputs", "model.txt")
kept.parent.mkdir(parents=True)
kept.write_text(os.environ["HOLDFAST_STARTED"] + pathlib.Path("rows.txt").read_text())
"""
THERE = ["where.backend=hf-jobs", "where.hardware=cpu-basic", "where.timeout=1h", "environment.secrets=[HF_TOKEN]"]
CREATION = "^POST /api/scheduled-jobs/me$"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that this process asks, and a script with a file of its own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    Path("rows.txt").write_text(" rows")
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", hub.token or "")
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield hub


def schedule(times: str = "@hourly", **more: object) -> str:
    """Schedule the script; return the name of the run."""
    given = {"set": THERE, "rehearse": False, "schedule": times, "runs": None} | more
    return run("train.py", **given).run  # type: ignore[arg-type]


def ends() -> list[tuple[str, str]]:
    """Return how each run ended, and the beginning of the reason."""
    listed = runs()
    assert isinstance(listed, RunsResult)
    return [(each.stage, each.because.split(":")[0]) for each in listed.runs]


def stages() -> list[str]:
    return [stage for stage, _ in ends()]


def next_job(hub: LoopbackHub) -> Job:
    """Let an hour pass on the Hub; return the job that starts, after its end."""
    before = set(hub.jobs.all)
    hub.clock.advance(3600)
    wait_for(lambda: hub.jobs.all.keys() > before)
    (started,) = hub.jobs.all.keys() - before
    job = hub.jobs.all[started]
    wait_for(lambda: job.ended)
    return job


def test_each_job_has_a_folder_of_its_own(hub: LoopbackHub) -> None:
    """The same program and files, begun anew each time; a secret as a secret, a timeout, and nothing at first."""
    name = schedule()
    assert not hub.jobs.all
    assert "@hourly on hf-jobs" in render_show(show(name))
    jobs = [next_job(hub) for _ in range(2)]

    assert [job.stage for job in jobs] == ["COMPLETED", "COMPLETED"]
    bucket = hub.buckets["me/holdfast"]
    kept = {path.split("/")[2]: text for path, text in bucket.contents.items() if path.endswith("/outputs/model.txt")}
    assert kept.keys() == {job.id for job in jobs}
    assert all(text.endswith(b" rows") for text in kept.values())
    (made,) = hub.jobs.scheduled.values()
    assert made.spec["timeoutSeconds"] > 3600
    assert (hub.token or "?") not in json.dumps({key: made.spec[key] for key in made.spec if key != "secrets"})
    assert show(name).stage == "scheduled"


def test_runs_lists_what_any_machine_has_started(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the runs folder that the schedule was made in; jobs of others are left out."""
    name = schedule("0 9 * * 1")
    other = schedule()
    job = next_job(hub)
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "elsewhere"))
    remote = runs(on="hf-jobs")
    assert isinstance(remote, RemoteRunsResult)

    assert [(each.id, each.run, each.attempt, each.stage) for each in remote.jobs] == [
        (job.id, other, None, "succeeded")
    ]
    assert job.id in remote.jobs[0].page
    assert {(each.run, each.times) for each in remote.schedules} == {(name, "0 9 * * 1"), (other, "@hourly")}
    assert all(each.next_at for each in remote.schedules)
    assert remote.complete
    text = render_remote(remote)
    assert [line.split()[:3] for line in text.splitlines()[1:2]] == [[other, "schedule", "succeeded"]]
    assert f"{name}  0 9 * * 1" in text


def test_stop_removes_the_schedule(hub: LoopbackHub) -> None:
    """Once; also if it is gone from the Hub already. A run that is scheduled cannot be resumed."""
    first, second = schedule(), schedule("@daily")
    with pytest.raises(UsageError, match="schedule"):
        resume(first)
    stopped = stop(first)

    assert (stopped.stage, stopped.because) == ("cancelled", "its schedule was removed")
    assert [each.schedule for each in hub.jobs.scheduled.values()] == ["@daily"]
    with pytest.raises(UsageError, match="not running"):
        stop(first)
    hub.jobs.scheduled.clear()
    assert stop(second).stage == "cancelled"


@pytest.mark.parametrize("fault", [500, 503, "mute", "cut"])
def test_a_schedule_is_created_once_though_its_answer_is_lost(hub: LoopbackHub, fault: int | str) -> None:
    """It is found by its label. One that the Hub may still have is removed by `stop`, if it is there."""
    if fault == "mute":
        hub.mute(CREATION)
        assert show(schedule()).stage == "scheduled"
        assert len(hub.jobs.scheduled) == 1
        return
    if fault == "cut":
        hub.cut(CREATION, times=1)
    else:
        hub.fail(CREATION, status=int(fault), times=1)
    with pytest.raises(UnreachableError):
        schedule()
    (listed,) = stages()
    assert listed == "scheduled"
    assert stop("train").stage == "cancelled"
    assert not hub.jobs.scheduled


def test_a_schedule_whose_creation_nobody_awaited_is_removed(hub: LoopbackHub) -> None:
    """The process was killed after the Hub had taken it; or the Hub was slow to list it."""
    name = schedule()
    ledger = Ledger(Path("runs"))
    events = [event for _, event in ledger.read(name)]
    assert isinstance(events[-1], RunScheduled)  # nothing is written after the Hub's answer
    assert stop(name).stage == "cancelled"
    assert show(name).schedule is UNSET
    assert not hub.jobs.scheduled


def test_a_stop_while_it_is_scheduled_is_heeded(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the process that schedules it, since it holds the run."""
    create, stopped = HfJobsSchedules.create, list[str]()

    def slow(schedules: HfJobsSchedules, attempt: Attempt, made: JobSchedule) -> None:
        create(schedules, attempt, made)
        stopped.append(stop(attempt.run).stage)

    monkeypatch.setattr(HfJobsSchedules, "create", slow)
    name = schedule()

    assert stopped == ["scheduled"]
    assert show(name).stage == "cancelled"
    assert not hub.jobs.scheduled


@pytest.mark.usefixtures("hub")
def test_a_refusal_is_that_of_the_hub() -> None:
    """The fields of cron are judged by the Hub: minute 75 is none."""
    with pytest.raises(BackendError, match="Invalid schedule"):
        schedule("75 * * * *")
    assert ends() == [("failed", "not scheduled")]


@pytest.mark.parametrize(
    ("times", "more", "where"),
    [
        ("daily", {}, "--schedule"),
        ("@dayly", {}, "--schedule"),
        ("* * * *", {}, "--schedule"),
        ("", {}, "--schedule"),
        ("0 9 * * $(x)", {}, "--schedule"),
        ("@daily", {"set": []}, "where.backend"),
        ("@daily", {"set": [*THERE, "where.budget_usd=5"]}, "where.budget_usd"),
        ("@daily", {"detach": True}, "--detach"),
        ("@daily", {"resume_from": "checkpoint-2"}, "--resume-from"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(hub: LoopbackHub, times: str, more: dict[str, object], where: str) -> None:
    """Before anything is recorded, with the option to correct."""
    with pytest.raises(UsageError) as error:
        schedule(times, **more)
    assert error.value.where == where
    assert error.value.fix
    assert not hub.jobs.scheduled
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "times", ["@daily", "0 9 * * 1", "0 9 * * MON#2", "0 0 9 ? * 1-5", "daily", "0 9 * *", "0 9 * * $", "* * * * _"]
)
def test_the_rule_about_scripts_takes_the_same_times(times: str, tmp_path: Path) -> None:
    """What `--schedule` takes, JOB115 does not report, and the other way round."""
    source = f"from huggingface_hub import HfApi\nHfApi().create_scheduled_uv_job('t.py', schedule={times!r}, timeout='2h')\n"
    (tmp_path / "scheduling.py").write_text(source)
    found = holdfast.check(tmp_path / "scheduling.py", offline=True, select="JOB115")["targets"][0]["findings"]
    try:
        parse_times(times)
    except UsageError:
        assert found
    else:
        assert not found


def test_a_backend_without_a_list_says_so() -> None:
    """The runs of this machine are in its runs folder."""
    with pytest.raises(UsageError, match="no list of jobs"):
        runs(on="local")
    with pytest.raises(UsageError, match="did you mean `hf-jobs`"):
        runs(on="hf-job")
    with pytest.raises(UsageError, match="--on"):
        runs(namespace="me")
    with pytest.raises(UsageError, match="--on"):
        runs(on="hf-jobs", runs="runs")
