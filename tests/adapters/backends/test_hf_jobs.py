"""What is special to Hugging Face Jobs: everything that the loopback Hub can let go wrong. `test_conformance.py` has what holds everywhere."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.backends.hf_jobs.log_lines import LogLine, LogReplay, MergedLog, split_lines
from holdfast.adapters.backends.hf_jobs.log_stream import LogStream
from holdfast.adapters.backends.hf_jobs.requests import label_of
from holdfast.adapters.backends.hf_jobs.settings import JobSettings
from holdfast.adapters.backends.hf_jobs.states import poll_result
from holdfast.core.errors import BackendError, UnreachableError, UsageError
from holdfast.core.run.backends import SAVE_S
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt, Plan
from tests.adapters.backends.harnesses import Followed, HfJobsHarness, make_attempt
from tests.helpers.fakes import any_step

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"  # noqa: S105 - of nobody
SHORT = "from holdfast_runtime import attempt; attempt.write('start'); print('done')"
LONG = "import time; from holdfast_runtime import attempt; attempt.write('start'); print('ready', flush=True); time.sleep(600)"
TALKING = """
    import time
    from holdfast_runtime import attempt
    for step in range(1, 31):
        attempt.write("step", step=step)
        print(f"line {step}", flush=True)
        time.sleep(0.01)
"""
SUBMISSION = "^POST /api/jobs/me$"
OF_JOB = "^GET /api/jobs/me/"
PLAN = Plan(name="a", script="", script_name="a.py", cwd="/", hardware="t4-small", timeout_s=60.0)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[HfJobsHarness]:
    harness = HfJobsHarness(tmp_path, {"HF_TOKEN": TOKEN})
    yield harness
    harness.hub.heal()
    harness.close()


def test_what_is_sent(harness: HfJobsHarness, tmp_path: Path) -> None:
    """Hardware, a timeout with room to save, labels, the run's folder; a short command; secrets as secrets and nowhere else."""
    harness.environment = {**harness.environment, "OTHER": "value of other"}
    attempt = make_attempt(tmp_path, "print('x' * 10)\n" + "#" * 200_000, run="sft $(x)", secrets=("HF_TOKEN", "OTHER"))
    followed = Followed.submit(harness, attempt)
    followed.to_its_end()
    spec = dict(harness.hub.jobs.newest.spec)

    assert spec.pop("secrets") == {"HF_TOKEN": TOKEN, "OTHER": "value of other"}
    assert not [secret for secret in (TOKEN, "value of other") if secret in json.dumps(spec) + followed.id]
    assert (spec["flavor"], spec["timeoutSeconds"]) == ("cpu-basic", 3600 + SAVE_S)
    assert spec["command"] == ["uv", "run", "/holdfast/attempts/1/attempt.py"]
    assert spec["environment"]["PYTHONUNBUFFERED"] == "1"
    assert spec["labels"]["holdfast-run"] == label_of("sft $(x)", "sft $(x)")
    assert [(each["mountPath"], each["source"]) for each in spec["volumes"]] == [("/holdfast", "me/holdfast")]
    bucket = harness.hub.buckets["me/holdfast"]
    assert bucket.private
    assert not [path for path, content in bucket.contents.items() if TOKEN.encode() in content]


@pytest.mark.parametrize(
    ("options", "script", "command", "place"),
    [
        ({"image": "python:3.12"}, SHORT, "python", "me/holdfast"),
        ({"image": "huggingface/trl:1"}, "# /// script\n# dependencies = []\n# ///\n" + SHORT, "uv", "me/holdfast"),
        ({"bucket": "kept"}, SHORT, "uv", "me/kept"),
        ({"bucket": "acme/kept", "namespace": "acme"}, SHORT, "uv", "acme/kept"),
    ],
)
def test_options(
    harness: HfJobsHarness, tmp_path: Path, options: Mapping[str, str], script: str, command: str, place: str
) -> None:
    """The image, whose Python runs a script without a header; the bucket; the account."""
    harness.hub.add_organization("acme", {"me": "write"}).pays = True
    followed = Followed.submit(harness, make_attempt(tmp_path, script, options=options))

    assert followed.to_its_end().exit_code == 0
    assert harness.hub.jobs.newest.spec["command"][0] == command
    assert harness.hub.buckets[place].files
    assert harness.hub.jobs.newest.namespace == options.get("namespace", "me")


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"hardware": None}, "where.hardware"),
        ({"timeout_s": None}, "where.timeout"),
        ({"options": {"image": 3}}, "where.options.image"),
        ({"options": {"namespace": "a b"}}, "where.options.namespace"),
        ({"options": {"namespace": "a/b"}}, "where.options.namespace"),
        ({"options": {"bucket": "a/b/c"}}, "where.options.bucket"),
        ({"options": {"bucket": "-a"}}, "where.options.bucket"),
        ({"options": {"volumes": ["./data:/data"]}}, "where.options.volumes"),
        ({"options": {"volumes": ["hf://me/a:/holdfast"]}}, "where.options.volumes"),
        ({"options": {"volumes": 3}}, "where.options.volumes"),
    ],
)
def test_a_plan_that_no_job_can_have_is_refused(changed: Mapping[str, Any], where: str) -> None:
    """Before anything is started, with the key to correct."""
    with pytest.raises(UsageError) as error:
        HfJobsBackend.open(replace(PLAN, **changed), {"HF_TOKEN": TOKEN})
    assert error.value.where == where


def test_without_a_token_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything asked."""
    monkeypatch.setattr("holdfast.adapters.backends.hf_jobs.hub.find_token", lambda: None)
    with pytest.raises(UsageError, match="token"):
        HfJobsBackend.open(PLAN, {})
    assert HfJobsBackend.open(None, {}).capabilities.name == "hf-jobs"


def test_a_timeout_of_zero_is_still_sent() -> None:
    """The client would drop it, and the Hub give half an hour."""
    assert JobSettings.of(replace(PLAN, timeout_s=0.0)).timeout_s == SAVE_S


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 422])
def test_a_refused_submission_is_told(harness: HfJobsHarness, tmp_path: Path, status: int) -> None:
    """It is certain that nothing runs: that is the end of the attempt."""
    harness.hub.fail(SUBMISSION, status=status, message="the Hub's own words")
    with pytest.raises(BackendError, match=r"cannot start the job: .*the Hub's own words") as error:
        harness.open().submit(make_attempt(tmp_path, SHORT))

    assert error.value.fix
    assert not harness.hub.jobs.all


@pytest.mark.parametrize("fault", [408, 429, 500, 502, 503, 504, "mute", "truncate", "cut"])
def test_a_submission_without_an_answer_is_found_again(
    harness: HfJobsHarness, tmp_path: Path, fault: int | str
) -> None:
    """Whether it arrived or not, there is one job in the end."""
    match fault:
        case "mute":
            harness.hub.mute(SUBMISSION)
        case "truncate":
            harness.hub.truncate(SUBMISSION, 40)
        case "cut":
            harness.hub.cut(SUBMISSION, times=1)
        case _:
            harness.hub.fail(SUBMISSION, status=int(fault), times=1)
    attempt = make_attempt(tmp_path, SHORT)
    with pytest.raises(UnreachableError):
        harness.open().submit(attempt)
    followed = Followed.submit(harness, attempt)

    assert followed.to_its_end().exit_code == 0
    assert len(harness.hub.jobs.all) == 1


def test_a_job_that_is_not_listed_yet_is_not_sent_again(harness: HfJobsHarness, tmp_path: Path) -> None:
    """The list may be behind."""
    harness.hub.cut(SUBMISSION, times=1)
    harness.listed_s = 60.0
    attempt = make_attempt(tmp_path, SHORT)
    for _ in range(3):
        with pytest.raises(UnreachableError):
            harness.open().submit(attempt)

    assert len(harness.hub.asked(SUBMISSION)) == 1


@pytest.mark.parametrize(
    ("message", "refused"), [("unknown flavor", "Invalid flavor: h900"), ("credit", "no credit is left")]
)
def test_what_the_hub_itself_refuses(harness: HfJobsHarness, tmp_path: Path, message: str, refused: str) -> None:
    """A flavor that there is not, an account that cannot pay."""
    harness.hub.accounts.users["me"].pays = message != "credit"
    hardware = "h900" if message == "unknown flavor" else "cpu-basic"
    with pytest.raises(BackendError, match=refused):
        harness.open().submit(make_attempt(tmp_path, SHORT, hardware=hardware))


def test_a_token_that_may_only_read_is_refused(harness: HfJobsHarness, tmp_path: Path) -> None:
    """Before anything is written."""
    harness.hub.add_token("hf_reads", role="read")
    harness.environment = {"HF_TOKEN": "hf_reads"}
    with pytest.raises(BackendError, match="no right"):
        harness.open().submit(make_attempt(tmp_path, SHORT))
    assert not harness.hub.jobs.all


def test_a_secret_that_is_not_set_is_refused(harness: HfJobsHarness, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="secrets are not set: WANDB_API_KEY"):
        harness.open().submit(make_attempt(tmp_path, SHORT, secrets=("WANDB_API_KEY",)))


@pytest.mark.parametrize("settings", [{"private": False}, {"private": True, "limit": 10}], ids=["public", "full"])
def test_a_bucket_that_cannot_be_used_is_refused(
    harness: HfJobsHarness, tmp_path: Path, settings: Mapping[str, Any]
) -> None:
    """One that everybody can read, one that has no room."""
    harness.hub.add_bucket("me/holdfast", **settings)
    with pytest.raises(BackendError, match="public" if not settings["private"] else "Storage limit reached"):
        harness.open().submit(make_attempt(tmp_path, SHORT))
    assert not harness.hub.jobs.all


@pytest.mark.parametrize(
    ("stage", "message", "answer", "exit_code", "because"),
    [
        ("SCHEDULING", "", "alive", None, ""),
        ("RUNNING", "", "alive", None, ""),
        ("UPDATING", "", "alive", None, ""),
        ("COMPLETED", "", "ended", 0, ""),
        ("ERROR", "Job failed with exit code: 143. Reason: Error", "ended", 143, ""),
        ("ERROR", "Job failed with exit code: 137. Reason: OOMKilled", "ended", 137, "OOMKilled"),
        ("ERROR", "Job timeout", "ended", None, "Job timeout"),
        ("ERROR", "Failed to pull image x", "ended", None, "Failed to pull image x"),
        ("ERROR", "", "ended", None, "does not say why"),
        ("CANCELED", "", "ended", None, "stage=CANCELED"),
        ("DELETED", "", "ended", None, "deleted by"),
        ("PAUSED", "", "unknown", None, "PAUSED"),
        ("", "", "unknown", None, "does not know"),
    ],
)
def test_each_stage_has_its_meaning(stage: str, message: str, answer: str, exit_code: int | None, because: str) -> None:
    """What is not known to be an end is none."""
    look = poll_result(stage, message)

    assert (look.answer.value, look.exit_code) == (answer, exit_code)
    assert because in look.because
    assert bool(look.because) == bool(because)


@pytest.mark.parametrize("fault", [401, 402, 403, 404, 409, 429, 500, 503, "truncate", "cut"])
def test_a_poll_without_an_answer_is_no_end(harness: HfJobsHarness, tmp_path: Path, fault: int | str) -> None:
    """Neither is a stop or a kill that is refused."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    if fault == "truncate":
        harness.hub.truncate(OF_JOB, 40, times=None)
    elif fault == "cut":
        harness.hub.cut(OF_JOB)
    else:
        harness.hub.fail(OF_JOB, status=int(fault))
    look = followed.backend.poll(followed.id)

    assert look.answer is Liveness.UNKNOWN
    assert look.because
    for order in (followed.backend.stop, followed.backend.kill):
        if fault == 404:
            order(followed.id)  # there is nothing to stop
        else:
            with pytest.raises(UnreachableError):
                order(followed.id)
    harness.hub.heal()
    followed.backend.kill(followed.id)
    assert followed.to_its_end().because


@pytest.mark.parametrize(
    ("kind", "because"),
    [
        ("unpullable", "Failed to pull image"),
        ("out_of_credit", "pre-paid credit balance is insufficient"),
        ("out_of_memory", "OOMKilled"),
        ("machine_gone", "the node was lost"),
    ],
)
def test_an_end_from_outside_has_its_reason(harness: HfJobsHarness, tmp_path: Path, kind: Any, because: str) -> None:
    """In the Hub's own words, which `diagnose` knows."""
    harness.hub.jobs.mishap(kind, at_line=None if kind == "unpullable" else "ready")
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    look = followed.to_its_end()

    assert because in look.because
    assert look.exit_code == (137 if kind == "out_of_memory" else None)


def test_the_hubs_own_timeout_is_told(harness: HfJobsHarness, tmp_path: Path) -> None:
    """The runtime saves on SIGTERM; the rest is the Hub's word."""
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG, timeout_s=1.0))
    followed.until(lambda _: followed.events)
    harness.hub.clock.advance(SAVE_S)

    assert followed.to_its_end().because.startswith("Job timeout")


def test_waiting_for_hardware_is_told_and_can_be_stopped(harness: HfJobsHarness, tmp_path: Path) -> None:
    """It is no running, whatever the log repeats; a stop cancels what has nothing to save."""
    harness.hub.jobs.mishap("stuck", times=None, message="no a100 is free", markers=3)
    followed = Followed.submit(harness, make_attempt(tmp_path, SHORT))
    look = followed.until(lambda look: look.phase.endswith("free"))

    assert (look.phase, look.waiting) == ("queued for hardware: no a100 is free", True)
    followed.backend.stop(followed.id)
    assert "CANCELED" in followed.to_its_end().because
    assert followed.log() == ""


def test_volumes_are_mounted(harness: HfJobsHarness, tmp_path: Path) -> None:
    """A dataset of the Hub, at the folder that is named, to be read."""
    harness.hub.add_dataset("me/rows", {"a.txt": "rows"})
    script = "import pathlib\nfrom holdfast_runtime import attempt\nattempt.write('start', rows=pathlib.Path('/data/a.txt').read_text())"
    followed = Followed.submit(
        harness, make_attempt(tmp_path, script, options={"volumes": ["hf://datasets/me/rows:/data"]})
    )

    assert followed.to_its_end().exit_code == 0
    assert followed.said("start")[0]["rows"] == "rows"
    assert harness.hub.jobs.newest.spec["volumes"][1]["readOnly"]


USES = """
    import pathlib
    from holdfast_runtime import attempt
    import helper
    attempt.write("start", said=helper.said, rows=pathlib.Path("data/rows.jsonl").read_text())
    pathlib.Path("data/rows.jsonl").write_text("this job's own")
"""


def with_files(tmp_path: Path, number: int = 1) -> Attempt:
    files = {"helper.py": "said = 'hello'", "data/rows.jsonl": "rows"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    attempt = make_attempt(tmp_path, USES, number=number)
    return replace(attempt, plan=replace(attempt.plan, files={name: len(text) for name, text in files.items()}))


def test_files_beside_the_script_are_there(harness: HfJobsHarness, tmp_path: Path) -> None:
    """Under the same relative paths, in a folder of the job's own; sent once for all attempts, and not fetched back."""
    first = Followed.submit(harness, with_files(tmp_path))
    assert first.to_its_end().exit_code == 0
    assert [(each["said"], each["rows"]) for each in first.said("start")] == [("hello", "rows")]
    batches = len(harness.hub.asked("^POST /api/buckets/me/holdfast/batch$"))
    second = with_files(tmp_path, number=2)
    for name in second.plan.files:
        (tmp_path / name).unlink()
    followed = Followed.submit(harness, second)

    assert followed.to_its_end().exit_code == 0
    assert len(harness.hub.asked("^POST /api/buckets/me/holdfast/batch$")) - batches <= 2
    assert not (followed.folder / "files").exists()


@pytest.mark.parametrize("fault", ["gone", "changed"])
def test_a_file_that_changed_meanwhile_is_not_sent(harness: HfJobsHarness, tmp_path: Path, fault: str) -> None:
    """The run would not be the one that was checked."""
    attempt = with_files(tmp_path)
    if fault == "gone":
        (tmp_path / "helper.py").unlink()
    else:
        (tmp_path / "helper.py").write_text("said = 1")
    with pytest.raises(BackendError, match="has changed since the run was planned"):
        harness.open().submit(attempt)
    assert not harness.hub.jobs.all


def test_an_upload_that_is_refused_starts_nothing(harness: HfJobsHarness, tmp_path: Path) -> None:
    """It is made good by the next one."""
    harness.hub.fail("^POST /api/buckets/me/holdfast/batch", status=403, times=1)
    attempt = with_files(tmp_path)
    with pytest.raises(BackendError):
        harness.open().submit(attempt)
    assert not harness.hub.jobs.all
    assert Followed.submit(harness, attempt).to_its_end().exit_code == 0


TRAPS: Mapping[str, Mapping[str, Any]] = {
    "cut": {"cut_after": 2},
    "ends early": {"close_after": 3},
    "in groups": {"hold": 7},
    "stays open": {"lingers": True},
    "shorter replays": {"lose_head": 4, "close_after": 5},
    "out of order": {"swapped": True},
    "half an event": {"garbled": 5, "times": 3},
    "torn apart": {"split": 3},
    "another clock": {"skew_s": 7200.0},
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_nothing_of_the_log_is_lost_or_doubled(harness: HfJobsHarness, tmp_path: Path, trap: Mapping[str, Any]) -> None:
    """Whatever is wrong with its stream."""
    harness.hub.jobs.trap_logs(**trap)
    harness.hub.jobs.stage_lag_s = 0.1
    followed = Followed.submit(harness, make_attempt(tmp_path, TALKING))
    followed.to_its_end()

    assert [event["step"] for event in followed.said("step")] == list(range(1, 31))
    assert followed.lost == 0
    assert followed.log().splitlines() == [f"line {step}" for step in range(1, 31)]


def test_a_clock_that_is_set_back_loses_nothing(harness: HfJobsHarness, tmp_path: Path) -> None:
    """Lines are put where their times say; events have numbers, which say more."""
    harness.hub.jobs.trap_logs(set_back=(1, 2, 9, 10, 16, 17, 31))
    followed = Followed.submit(harness, make_attempt(tmp_path, TALKING))
    followed.to_its_end()

    assert [event["step"] for event in followed.said("step")] == list(range(1, 31))
    assert followed.lost == 0
    assert sorted(followed.log().splitlines()) == sorted(f"line {step}" for step in range(1, 31))


def test_a_replay_that_is_slow_is_awaited() -> None:
    """A stream that has not brought again what is known already says nothing by its silence."""
    later, connections = Event(), 0

    @contextmanager
    def connect() -> Iterator[Iterator[bytes]]:
        nonlocal connections
        connections += 1
        yield stream(slow=connections > 1)

    def stream(*, slow: bool) -> Iterator[bytes]:
        if slow:
            later.wait(0.5)
        for text in "ab" if not slow else "abc":
            yield f'data: {{"data": "{text}", "timestamp": "2026-01-01T00:00:00Z"}}\n\n'.encode()

    log = LogStream(connect, silent_s=0.05, opening_s=20.0)

    assert log.read(0, ended=True).data == b"a\nb\n"
    assert log.read(0, ended=True).data == b"a\nb\nc\n"


def test_no_event_is_doubled_by_a_stream_that_doubles(harness: HfJobsHarness, tmp_path: Path) -> None:
    """Events have numbers; two equal lines of text cannot be told from one that came twice."""
    harness.hub.jobs.trap_logs(doubled=True)
    followed = Followed.submit(harness, make_attempt(tmp_path, TALKING))
    followed.to_its_end()

    assert [event["step"] for event in followed.said("step")] == list(range(1, 31))


def test_lines_of_several_replays_are_merged() -> None:
    """By their times; equal lines as often as the fullest replay has them; a clock that is set back changes no order."""
    log = MergedLog()
    for replayed in ("acc", "bcc", "abcd"):
        replay = LogReplay(log)
        for text in replayed:
            replay.add(LogLine(f"2026-01-01T00:00:0{ord(text) - ord('a')}Z", text))
    replay = LogReplay(log)
    replay.add(LogLine("2026-01-01T00:00:09Z", "late"))
    replay.add(LogLine("2025-01-01T00:00:00Z", "set back"))

    assert log.read(0).decode().split("\n") == ["a", "b", "c", "c", "d", "late", "set back", ""]
    assert list(split_lines(["a\u2028b\x85".encode(), b"c\n"])) == ["a\u2028b\x85c".encode()]


def test_a_request_that_appears_late_is_obeyed(harness: HfJobsHarness, tmp_path: Path) -> None:
    """A mounted folder shows new files after a while."""
    harness.hub.jobs.read_delay_s = 30.0
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG))
    followed.until(lambda _: followed.events)
    followed.backend.stop(followed.id)
    time.sleep(0.3)  # noqa: TID251 - a real process
    assert followed.look().answer is Liveness.ALIVE
    harness.hub.clock.advance(31)

    assert followed.to_its_end().exit_code == 143
    assert [event["status"] for event in followed.said("end")] == ["stopped"]


SAVES = """
    import os, pathlib, time
    from holdfast_runtime import attempt, seal
    for step in (4, 8):
        folder = pathlib.Path(os.environ["HOLDFAST_RUN"], "checkpoints", "m-1", f"checkpoint-{step}")
        folder.mkdir(parents=True)
        for name in ("trainer_state.json", "optimizer.pt", "scheduler.pt", "model.safetensors"):
            (folder / name).write_text("x" * step)
        seal(folder, sorted(folder.iterdir()), step=step, world_size=1)
    print("ready", flush=True)
    time.sleep(600)
"""


def test_only_a_checkpoint_that_arrived_whole_is_resumed(harness: HfJobsHarness, tmp_path: Path) -> None:
    """The weights of the newer one were on their way when the machine was lost; its manifest had arrived."""
    harness.hub.jobs.write_delays = {"*checkpoint-8/model.safetensors": 600.0}
    followed = Followed.submit(harness, make_attempt(tmp_path, SAVES))
    files = harness.hub.buckets["me/holdfast"].files
    followed.until(lambda _: any(path.endswith("checkpoint-8/holdfast-manifest.json") for path in list(files)))
    harness.lose_machine(followed.id)
    followed.to_its_end()
    newest, passed_over = followed.output.newest_checkpoint(followed.state, (), any_step)
    run = followed.folder
    resumed = replace(make_attempt(tmp_path, SHORT, number=2), resume_from=newest)
    second = Followed.submit(harness, resumed)

    assert newest == str(run / "checkpoints" / "m-1" / "checkpoint-4")
    assert [each.step for each in passed_over] == [8]
    assert second.to_its_end().exit_code == 0
    told = harness.hub.jobs.newest.spec["environment"]["HOLDFAST_RESUME"]
    assert told == "/holdfast/checkpoints/m-1/checkpoint-4"


def test_a_file_appears_whole_or_not_at_all(harness: HfJobsHarness, tmp_path: Path) -> None:
    """And of another run's folder, whose name begins alike, nothing is listed."""
    followed = Followed.submit(harness, make_attempt(tmp_path, SHORT))
    followed.to_its_end()
    bucket = harness.hub.buckets["me/holdfast"]
    folder = label_of("run", "run")
    with harness.hub.lock:
        bucket.put(f"{folder}/model.bin", b"x" * 9999, mtime_s=0.0, now_s=0.0)
        bucket.put(f"{folder}0/other.bin", b"y", mtime_s=0.0, now_s=0.0)
    backend, to = harness.open(), tmp_path / "model.bin"
    listed = backend.list_files(followed.id)
    harness.hub.fail("^POST /api/buckets/me/holdfast/paths-info", status=403, times=1)
    with pytest.raises(UnreachableError):
        backend.fetch_file(followed.id, "model.bin", str(to))
    with pytest.raises(UnreachableError):
        backend.fetch_file(followed.id, "none.bin", str(tmp_path / "none.bin"))

    assert listed["model.bin"].size == 9999
    assert "other.bin" not in {path.rpartition("/")[2] for path in listed}
    assert not to.exists()
    backend.fetch_file(followed.id, "model.bin", str(to))
    assert to.read_bytes() == b"x" * 9999
    assert not (tmp_path / "none.bin").exists()


def test_memory_is_measured_now_and_then(harness: HfJobsHarness, tmp_path: Path) -> None:
    """That of the machine, and of the GPU with the most in use. A Hub that measures nothing costs nothing but the figure."""
    harness.hub.jobs.seen_gpu_bytes = 7 << 30
    followed = Followed.submit(harness, make_attempt(tmp_path, LONG, hardware="t4-small"))
    usage = followed.until(lambda poll: poll.usage).usage
    assert usage

    assert 0 < usage.memory_bytes < usage.memory_total_bytes
    assert (usage.gpu_bytes, usage.gpu_total_bytes) == (7 << 30, 16_000_000_000)
    assert [followed.look().usage for _ in range(3)] == [None] * 3
    assert len(harness.hub.asked("/metrics")) == 1
    harness.hub.fail("/metrics", status=500)
    other = harness.open().poll(followed.id)
    assert (other.answer, other.usage) == (Liveness.ALIVE, None)
    harness.open().kill(followed.id)
