"""The loopback Hub runs jobs as `huggingface_hub` submits and follows them."""

import json

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub, wait_for  # noqa: F401 - the fixtures `hub` and `ask`
from tests.helpers.hub.jobs import namespace
from tests.helpers.hub.jobs.images import Image

SLEEPS = "'import time; print(1, flush=True); time.sleep(60)'"


@pytest.fixture(autouse=True)
def own_bucket(hub: LoopbackHub) -> None:
    """Begin each test with an empty bucket."""
    hub.add_bucket("me/kept")


def test_environment(hub: LoopbackHub, ask: Ask) -> None:
    """A job has an empty folder, what was sent, what the platform gives, and nothing of this machine; secrets are told by name only."""
    code = "import os, json; print(json.dumps([dict(os.environ), os.listdir()]))"
    told = ask(
        """
job_id = python(text, env={"A": "a b", "N": 3}, secrets={"HF_TOKEN": "hf_hidden"}, flavor="a10g-large", labels={"run": "r1"}, attempts=2)
done = ended(job_id), logs(job_id)
job = api.inspect_job(job_id=job_id)
[done, job.environment, job.secrets, job.labels, job.flavor, job.retry, job.owner.name, job.docker_image]
""",
        text=code,
    )
    (end, (line,)), *rest = told
    environment, folder = json.loads(line)
    assert end == ["COMPLETED", None]
    assert folder == []
    for name in ("PATH", "HOME", "TMPDIR", *hub.jobs.network):
        environment.pop(name)
    assert environment.pop("JOB_ID") == hub.jobs.newest.id
    environment = {name: value for name, value in environment.items() if name not in ("PWD", "SHLVL", "_", "LC_CTYPE")}
    assert environment == {
        "A": "a b",
        "N": "3",
        "HF_TOKEN": "hf_hidden",
        "ACCELERATOR": "a10g-large",
        "CPU_CORES": "12",
        "MEMORY": "46Gi",
    }
    image = "ghcr.io/astral-sh/uv:python3.12-bookworm"
    labels = hub.jobs.newest.labels
    assert rest == [{"A": "a b", "N": 3}, ["HF_TOKEN"], labels, "a10g-large", 1, "me", image]
    assert labels["run"] == "r1"
    assert "hf_hidden" not in str(hub.jobs.newest.told(0.0))


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (["uv", "run", "--with", "trl==1.0", "--python", "3.12", "python", "-c", "print('a')"], ["a"]),
        (["sh", "-c", "echo \"print('b', __import__('sys').argv[1])\" > x.py; uv run x.py arg"], ["b arg"]),
        (["python3", "-c", "import trl.import_utils, sys; print(len(sys.path) > 2)"], ["True"]),
        (["python", "-c", "import sys; print('out', flush=True); print('err', file=sys.stderr)"], ["out", "err"]),
        (["python", "-c", r"print('\r1%\r2%\n\u00e4\U0001f600')"], ["\r1%\r2%", "ä😀"]),
    ],
)
def test_programs(ask: Ask, command: list[str], output: list[str]) -> None:
    """`uv run` and Python are the image's, which is this machine's."""
    assert ask("job_id = run(*command); [ended(job_id)[0], logs(job_id)]", command=command) == ["COMPLETED", output]


def test_scripts(hub: LoopbackHub, ask: Ask) -> None:
    """`run_uv_job` brings a local script through a bucket; one at an address is fetched by the job."""
    address = hub.add_page("/script.py", "import sys; print('fetched', *sys.argv[1:])", media_type="text/plain")
    local = """
script = Path(mkdtemp()) / "attempt.py"
script.write_text("import sys; print(__file__, *sys.argv[1:])")
warnings.simplefilter("ignore")
job_id = api.run_uv_job(str(script), script_args=["--x"], dependencies=["trl"], timeout="1h").id
[ended(job_id)[0], logs(job_id)]
"""
    assert ask(local) == ["COMPLETED", ["/data/attempt.py --x"]]
    assert hub.jobs.newest.spec["timeoutSeconds"] == 3600
    assert [path.rpartition("/")[2] for path in hub.buckets["me/jobs-artifacts"].files] == ["attempt.py"]
    by_address = "job_id = api.run_uv_job(address, script_args=['y']).id; [ended(job_id)[0], logs(job_id)]"
    assert ask(by_address, address=address) == ["COMPLETED", ["fetched y"]]


def test_ends(hub: LoopbackHub, ask: Ask) -> None:
    """Exit codes, an image that is not there, a program that is not in it."""
    assert ask("ended(python('exit(3)'))") == ["ERROR", "Job failed with exit code: 3. Reason: Error"]
    assert (
        ask("ended(python('import os; os.kill(os.getpid(), 9)'))")[1] == "Job failed with exit code: 137. Reason: Error"
    )
    assert ask("ended(run('true', image='nobody/nothing:1'))") == ["ERROR", "Failed to pull image nobody/nothing:1"]
    assert ask("ended(run('uv', 'run', 'x.py', image='python:3.12'))")[1].startswith("Job failed with exit code: 127")
    hub.jobs.images["nobody/nothing:1"] = Image(uv=False)
    assert ask("ended(run('python', '-c', '1', image='nobody/nothing:1'))")[0] == "COMPLETED"
    job = ask(
        "job = api.inspect_job(job_id=run('true')); ended(job.id); vars(api.inspect_job(job_id=job.id).durations)"
    )
    assert job == {"scheduling_secs": 0, "running_secs": 0, "total_secs": 0}


def test_timeouts(hub: LoopbackHub, ask: Ask) -> None:
    """The timeout that was sent, or half an hour, on a clock that a test drives; the process is asked first."""
    traps = "import os, signal, time; signal.signal(15, lambda *_: (os.write(1, b'asked\\n'), os._exit(0))); print(1, flush=True); time.sleep(60)"
    for asked, allowed_s in [({}, 1800), ({"timeout": "1.5h"}, 5400), ({"timeout": 7}, 7)]:
        ask("job_id = python(text, **asked); at_stage(job_id, 'RUNNING')", text=traps, asked=asked)
        wait_for(lambda: hub.jobs.newest.output)
        hub.clock.advance(allowed_s - 5)
        assert ask("api.inspect_job(job_id=job_id).status.stage") == "RUNNING"
        hub.clock.advance(6)
        assert ask("ended(job_id)") == ["ERROR", "Job timeout"]
        assert hub.jobs.newest.output == ["1", "asked"]
        assert ask("api.inspect_job(job_id=job_id).durations.running_secs") == pytest.approx(allowed_s, abs=3)


def test_cancellation(hub: LoopbackHub, ask: Ask) -> None:
    """Twice is as good as once; a job that has ended keeps its end; whatever it started goes with it."""
    ask("job_id = run('sh', '-c', 'sleep 61 & sleep 62'); at_stage(job_id, 'RUNNING')")
    ask("api.cancel_job(job_id=job_id); api.cancel_job(job_id=job_id)")
    assert ask("ended(job_id)") == ["CANCELED", None]
    ask("job_id = run('true'); ended(job_id); api.cancel_job(job_id=job_id)")
    assert ask("ended(job_id)") == ["COMPLETED", None]
    assert ask("error_of(api.cancel_job, job_id='0' * 24)[0]") == "JobNotFoundError"
    assert ask("error_of(api.inspect_job, job_id='0' * 24)[0]") == "JobNotFoundError"
    assert ask("again = api.rerun_job(job_id=job_id); [again.id != job_id, again.command, again.initiator.type]") == [
        True,
        ["true"],
        "duplicated-job",
    ]
    assert hub.jobs.newest.command == ["true"]


def test_lists(hub: LoopbackHub, ask: Ask) -> None:
    """By labels and stages, the newest first, over pages; labels are replaced, and those that the Hub refuses are refused."""
    ids = [
        ask("job_id = run('true', labels={'run': 'lists', 'attempt': n}); ended(job_id); job_id", n=str(n))
        for n in range(5)
    ]
    hub.page_size = 2
    listed = "[job.id for job in api.list_jobs(namespace='me', "
    assert ask(f"{listed}labels={{'run': 'lists'}})]") == ids[::-1]
    assert ask(f"{listed}labels={{'run': 'lists', 'attempt': '3'}}, status='COMPLETED')]") == [ids[3]]
    assert ask(f"{listed}labels={{'run': 'lists'}}, status=['RUNNING', 'ERROR'])]") == []
    hub.page_size = 1000
    assert ask("api.update_job_labels(job_id=job_id, labels={'only': 'this'}).labels") == {"only": "this"}
    for bad in ({"a b": "c"}, {"a": "b/c"}, {"a": "x" * 101}):
        assert ask("error_of(run, 'true', labels=bad)[0]", bad=bad) == "BadRequestError"


def test_rights(hub: LoopbackHub, ask: Ask) -> None:
    """Who may run jobs where, and who pays."""
    submit = "error_of(as_whom(token).run_job, image='python:3.12', command=['true'], namespace=space, **more)"

    def refused(token: str, space: str = "me", **more: str) -> str:
        return str(ask(submit, token=token, space=space, more=more)[1])

    assert "401" in refused("hf_unknown")
    assert "403 Forbidden: Missing permissions: job.write" in refused("hf_me_read")
    assert "403" in refused("hf_me_write", "you")
    assert "404" in refused("hf_me_write", "nobody-there")
    assert "Invalid flavor: huge" in refused("hf_me_write", flavor="huge")
    hub.accounts.users["me"].pays = False
    assert "402" in refused("hf_me_write")
    assert "Pre-paid credit balance is insufficient" in refused("hf_me_write")
    hub.accounts.users["me"].pays = True
    hub.accounts.organizations["acme"].members["me"] = "write"
    hub.accounts.organizations["acme"].pays = True
    assert refused("hf_me_write", "acme").startswith("JobInfo(")
    hub.accounts.organizations["acme"].members.clear()


def test_volumes(hub: LoopbackHub, ask: Ask) -> None:
    """Buckets and repositories are folders at their paths; what is written to a bucket arrives, deletions too; read-only ones keep."""
    hub.buckets["me/kept"].put("in/a.txt", b"a", mtime_s=0.0, now_s=0.0)
    hub.buckets["me/kept"].put("gone.txt", b"g", mtime_s=0.0, now_s=0.0)
    hub.add_model("acme/base", {"config.json": '{"x": 1}', "sub/w.bin": b"w"})
    code = """
import os, pathlib
print(open("/model/w.bin").read(), open("/out/in/a.txt").read(), sorted(os.listdir("/kept")))
pathlib.Path("/out/deep/er").mkdir(parents=True)
pathlib.Path("/out/deep/er/b.txt").write_text("/out/deep")
os.remove("/out/gone.txt")
"""
    mounts = """
kept = Volume(type="bucket", source="me/kept", mount_path="/kept", path="in", read_only=True)
model = Volume(type="model", source="acme/base", mount_path="/model", path="sub")
job_id = python(text, volumes=[bucket("/out"), kept, model])
[ended(job_id)[0], logs(job_id)]
"""
    assert ask(mounts, text=code) == ["COMPLETED", ["w a ['a.txt']"]]
    assert hub.buckets["me/kept"].contents == {"deep/er/b.txt": b"/out/deep", "in/a.txt": b"a"}
    ask("nowhere = Volume(type='bucket', source='me/kept', mount_path='/x', path='not/there')")
    assert ask("ended(run('true', volumes=[nowhere]))") == [
        "ERROR",
        "Volume mount failed: not/there not found in bucket me/kept",
    ]


def test_volumes_without_namespaces(hub: LoopbackHub, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this machine allows no mount namespace, paths are changed in commands and variables, and back in the log."""
    monkeypatch.setattr(namespace, "unshare", tuple)
    text = "import os; print(open(os.environ['OUT'] + '/a.txt', 'w').name, '/outside')"
    end = "job_id = python(text, volumes=[bucket('/out')], env={'OUT': '/out'}); [ended(job_id)[0], logs(job_id)]"
    assert ask(end, text=text) == ["COMPLETED", ["/out/a.txt /outside"]]
    assert hub.buckets["me/kept"].contents == {"a.txt": b""}


def test_writes_arrive_late_and_whole(hub: LoopbackHub, ask: Ask) -> None:
    """A file that is open does not arrive, one that is closed does after a time, some later than others; the job's end does not wait if it need not."""
    hub.jobs.write_delay_s = 60.0
    hub.jobs.write_delays["*.safetensors"] = 600.0
    hub.jobs.drains = False
    code = """
import time
open("/out/closed.json", "w").write("{}")
open("/out/w.safetensors", "w").write("w")
still = open("/out/open.log", "w")
print("half", file=still, flush=True)
print("ready", flush=True)
time.sleep(60)
"""
    ask("job_id = python(text, volumes=[bucket('/out')]); at_stage(job_id, 'RUNNING')", text=code)
    kept = hub.buckets["me/kept"]
    wait_for(lambda: hub.jobs.newest.output)
    wait_for(lambda: hub.jobs.newest.machine and hub.jobs.newest.machine.volumes[0].due)
    assert kept.contents == {}
    hub.clock.advance(61)
    wait_for(lambda: kept.contents)
    assert kept.contents == {"closed.json": b"{}"}
    hub.clock.advance(601)
    wait_for(lambda: len(kept.contents) == 2)
    assert kept.contents == {"closed.json": b"{}", "w.safetensors": b"w"}
    hub.jobs.drains = True
    assert ask("api.cancel_job(job_id=job_id); ended(job_id)[0]") == "CANCELED"
    assert kept.contents["open.log"] == b"half\n"


def test_full_bucket(hub: LoopbackHub, ask: Ask) -> None:
    """What a job writes beyond the bucket's limit does not arrive, and the job is none the wiser."""
    hub.buckets["me/kept"].limit = 3
    writes = "open('/out/a', 'w').write('abc'); open('/out/b', 'w').write('too much')"
    assert ask("ended(python(text, volumes=[bucket('/out')]))", text=writes) == ["COMPLETED", None]
    assert hub.buckets["me/kept"].contents == {"a": b"abc"}
    assert hub.buckets["me/kept"].refused == ["b"]


def test_metrics(hub: LoopbackHub, ask: Ask) -> None:
    """Memory of the job and its GPUs while it runs; nothing for one that has ended."""
    hub.jobs.seen_gpu_bytes, hub.jobs.metrics_s = 123, 0.05
    ask(f"job_id = python({SLEEPS}, flavor='l4x4'); at_stage(job_id, 'RUNNING')")
    wait_for(lambda: hub.jobs.newest.output)
    (one,) = ask("list(api.fetch_job_metrics(job_id=job_id))")
    assert one["memory_used_bytes"] > 1_000_000
    assert one["memory_total_bytes"] == 186_000_000_000
    assert [gpu["memory_used_bytes"] for gpu in one["gpus"].values()] == [123] * 4
    ask("api.cancel_job(job_id=job_id); ended(job_id)")
    assert ask("list(api.fetch_job_metrics(job_id=job_id))") == []
