"""A supervisor killed at any write: one `resume` brings the run to its end, with nothing lost and nothing done twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.app.run.attempting import prepare_attempt
from holdfast.app.run.runs import Run
from holdfast.cli.text.news import render_news
from holdfast.core.run.event import Closed, RunRequested, Started, Starting
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import fold
from holdfast.engine.run.answers import run_result
from holdfast.engine.run.progress import follow
from tests.helpers.checkpoints import save_checkpoint
from tests.helpers.sampling import sampled
from tests.helpers.tiny import quiet_environment

SCRIPT = """
import os, time
with open("started.txt", "a") as file:
    file.write(f"{os.environ['HOLDFAST_ATTEMPT']}\\n")
time.sleep(0.3)
print("done")
"""
KILLER = """
import os, pathlib, signal, sys
at, verb, runs = sys.argv[1], sys.argv[2:], os.environ["HOLDFAST_RUNS"]
count = 0

def is_write(event, args):
    if event == "open":
        return isinstance(args[0], str) and args[0].startswith(runs) and bool((args[2] or 0) & (os.O_WRONLY | os.O_RDWR))
    return event in ("os.rename", "os.mkdir", "os.link", "os.truncate", "subprocess.Popen")

def hook(event, args):
    global count
    if is_write(event, args):
        count += 1
        if at == str(count) or (not at.isdigit() and at in str(args[0])):
            os.kill(os.getpid(), signal.SIGKILL)

from holdfast.cli.main import run_command
sys.addaudithook(hook)
code = run_command(verb)
print(count, file=sys.stderr)
sys.exit(code)
"""
WRITES = 40
"""More than one run makes."""
SAMPLE = (4, 11, 20)


def holdfast(folder: Path, *words: str, kill_at: int | str = 0) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; kill it before its write number `kill_at`, or before its first to a file of that name."""
    return subprocess.run(
        [sys.executable, "-c", KILLER, str(kill_at), *words],
        cwd=folder,
        env=quiet_environment(HOLDFAST_RUNS=str(folder / "runs")),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "kill_at",
    [number if number in SAMPLE else pytest.param(number, marks=pytest.mark.long) for number in range(1, WRITES)],
)
def test_a_supervisor_that_was_killed_leaves_a_run_that_goes_on(tmp_path: Path, kill_at: int) -> None:
    """Before its plan, before its start, while it trains, before its verdict and before its report: one `resume` is enough."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    killed = holdfast(tmp_path, "run", "train.py", "--no-rehearse", "--offline", "--quiet", kill_at=kill_at)
    runs = Ledger(tmp_path / "runs").runs() if (tmp_path / "runs").exists() else []
    if not runs:  # it was killed before it was asked for, or it was not killed
        assert killed.returncode == -9
        return
    (run,) = runs
    if fold(Ledger(tmp_path / "runs").outline(run)).stage != "succeeded":
        resumed = holdfast(tmp_path, "resume", run, "--quiet", "--format", "json")
        assert resumed.returncode == 0, resumed.stderr
        assert json.loads(resumed.stdout)["stage"] == "succeeded"
    shown = json.loads(holdfast(tmp_path, "show", run, "--format", "json").stdout)
    starts = Counter((tmp_path / "started.txt").read_text(encoding="utf-8").split())
    events = [event for _, event in Ledger(tmp_path / "runs").read(run)]

    assert shown["stage"] == "succeeded"
    assert Path(shown["folder"], "report.html").exists()
    assert set(starts.values()) == {1}
    assert len(starts) == len(shown["attempts"]) == 1
    assert sum(isinstance(event, Started) for event in events) == 1
    assert sum(isinstance(event, Closed) for event in events) == 1


@pytest.mark.parametrize("kill_at", sampled(["plan.json", "check.json", "supervisor.lock"], 3))
def test_a_run_that_was_killed_before_its_start_can_be_stopped(tmp_path: Path, kill_at: str) -> None:
    """`stop` closes it; `resume` then takes it up again."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    holdfast(tmp_path, "run", "train.py", "--no-rehearse", "--offline", "--quiet", kill_at=kill_at)
    (run,) = Ledger(tmp_path / "runs").runs()
    stopped = holdfast(tmp_path, "stop", run, "--format", "json")

    assert json.loads(stopped.stdout)["stage"] == "cancelled", stopped.stderr
    resumed = holdfast(tmp_path, "resume", run, "--quiet", "--format", "json")
    assert json.loads(resumed.stdout)["stage"] == "succeeded", resumed.stderr
    assert len((tmp_path / "started.txt").read_text(encoding="utf-8").split()) == 1


def test_what_a_run_was_asked_with_is_lost(tmp_path: Path) -> None:
    """A run that was never started, and whose script was moved: what, where, how to fix."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    holdfast(tmp_path, "run", "train.py", "--no-rehearse", "--offline", "--quiet", kill_at="plan.json")
    (run,) = Ledger(tmp_path / "runs").runs()
    (tmp_path / "train.py").rename(tmp_path / "moved.py")
    resumed = holdfast(tmp_path, "resume", run)

    assert resumed.returncode == 2
    assert "train.py is no longer there" in resumed.stderr
    assert "Traceback" not in resumed.stderr


def test_checkpoints_that_were_passed_over_are_named(tmp_path: Path) -> None:
    """Whoever resumes from an older one, or from the beginning, is told why."""
    run = Run(name="a", folder=tmp_path / "a", ledger=Ledger(tmp_path))
    paths = [save_checkpoint(run.folder / "checkpoints" / "model", step) for step in (8, 16, 24)]
    (paths[2] / "optimizer.pt").unlink()
    (paths[1] / "model.safetensors").write_bytes(b"")
    plan = Plan(name="a", script="", script_name="train.py", cwd=str(tmp_path))

    run.ledger.append("a", [Starting(at_s=0, attempt=1, backend="local"), Started(at_s=0, attempt=1, id="1")])
    attempt = prepare_attempt(run.folder, run.events(), plan, SharedOutput(run.folder), 2, resume=True)
    assert attempt.resume_from == str(paths[0])
    assert [each.partition(":")[0] for each in attempt.passed_over] == ["checkpoint-24", "checkpoint-16"]
    assert "optimizer.pt is missing" in attempt.passed_over[0]
    aside = run.folder / "checkpoints" / "model" / "damaged"
    assert attempt.passed_over[0].endswith("set aside as damaged/checkpoint-24")
    assert sorted(each.name for each in aside.iterdir()) == ["checkpoint-16", "checkpoint-24"]
    assert (aside / "checkpoint-24" / "model.safetensors").exists()
    (paths[0] / "scheduler.pt").unlink()
    attempt = prepare_attempt(run.folder, run.events(), plan, SharedOutput(run.folder), 2, resume=True)
    assert attempt.resume_from is None
    assert [each.partition(":")[0] for each in attempt.passed_over] == ["checkpoint-8"]

    news = Starting(at_s=1, attempt=2, backend="local", passed_over=attempt.passed_over)
    told = str(render_news(news, follow([news]), 1))
    assert "from the beginning" in told
    assert "cannot resume from checkpoint-8: scheduler.pt is missing" in told
    run.ledger.append("a", [RunRequested(at_s=0, folder=str(run.folder)), news])
    assert run_result("a", run.state()).attempts[-1].passed_over == attempt.passed_over
