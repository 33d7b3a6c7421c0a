"""Real runs that fail in every way this project's other tests make them fail, each diagnosed by its name; and good ones that are healthy."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec import convert

from holdfast import diagnose
from holdfast.cli.text.diagnosis import render_diagnosis
from holdfast.core.job.methods import Method
from holdfast.results.diagnose import DiagnoseResult
from tests.app.run.test_run import JOB, ROWS
from tests.helpers.run_place import PATIENCE_S, Place
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.long]


@pytest.fixture(scope="module", name="env")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        **quiet_environment(),
        "HOLDFAST_CACHE": str(tmp_path_factory.mktemp("cache")),
        "PYTHONWARNINGS": "ignore",
    }


@pytest.fixture(name="at")
def place(tmp_path: Path, env: dict[str, str]) -> Iterator[Place]:
    """A folder with a job and its rows in it; whatever was started there is gone afterwards."""
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "rows.jsonl").write_text(ROWS)
    yield Place(tmp_path, env)
    for process in psutil.process_iter(["cmdline"]):
        if str(tmp_path) in " ".join(process.info["cmdline"] or []):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def told_of(at: Place) -> dict[str, Any]:
    """Return the diagnosis of the only run in a folder, by its name."""
    return diagnose([at.run.name], runs=str(at.folder / "runs"))


def first(told: dict[str, Any]) -> str:
    return str(told["causes"][0]["class"]) if told["verdict"] == "diagnosed" else str(told["verdict"])


def run_until(at: Place, ready: Callable[[], object], then: Callable[[], object]) -> None:
    """Start the job, do something to it when it is ready, and wait for its end."""
    running = at.start("run", "job.yaml", "--format", "json", "--set", "train.max_steps=100000", "--despite", "JOB101")
    at.wait_for(ready, running)
    then()
    running.communicate(timeout=PATIENCE_S)


def to_each(at: Place, number: int) -> None:
    for process in at.training_processes():
        process.send_signal(number)


@pytest.mark.parametrize(
    ("number", "true"),
    [
        (signal.SIGTERM, "job-preempted-or-requeued"),
        (signal.SIGINT, "job-cancelled-externally"),
        (signal.SIGHUP, "killed-by-sighup"),
        (signal.SIGKILL, "job-cancelled-externally"),
    ],
)
def test_who_ended_a_run_is_told_by_the_signal(at: Place, number: int, true: str) -> None:
    """A SIGKILL counts as sent by somebody where the kernel counted no kill for lack of memory."""
    run_until(at, lambda: at.steps() >= 2, lambda: to_each(at, number))
    told = told_of(at)

    assert first(told) == true, told["causes"]
    assert told["causes"][0]["evidence"][0]["path"] == "the ledger"
    assert f"`holdfast resume {at.run.name}`" in told["causes"][0]["fix"]


def test_a_person_who_stops_a_run_is_no_failure_of_the_job(at: Place) -> None:
    run_until(at, lambda: at.steps() >= 2, lambda: at.type("stop", "job"))
    told = told_of(at)

    assert first(told) == "job-cancelled-externally"
    assert "a person" in told["causes"][0]["evidence"][0]["text"]
    assert told["causes"][0]["fix"] == f"Continue it from the newest whole checkpoint: `holdfast resume {at.run.name}`."


def test_a_run_that_goes_on_is_healthy_so_far(at: Place) -> None:
    """What is missing in its logs is no failure yet; once it is stopped, that is told."""
    seen: list[dict[str, Any]] = []

    def look_and_stop() -> None:
        seen.append(told_of(at))
        at.type("stop", "job")

    run_until(at, lambda: at.steps() >= 2, look_and_stop)

    assert (seen[0]["verdict"], seen[0]["running"]) == ("healthy", at.run.name)
    assert "no failure found so far" in render_diagnosis(convert(seen[0], DiagnoseResult))
    assert told_of(at)["running"] is None


def test_a_kill_for_memory_is_told_by_what_the_kernel_counted(at: Place) -> None:
    """The guard counts kills for lack of memory beside each attempt; nobody else knows."""
    run_until(at, lambda: at.steps() >= 2, lambda: to_each(at, signal.SIGKILL))
    left = at.run / "attempts/1/exit.json"
    told = json.loads(left.read_text())
    assert told["exit_code"] == -signal.SIGKILL
    assert told["oom_kills"] >= 0
    assert told["disk_free_bytes"] > 0
    left.write_text(json.dumps({**told, "oom_kills": 1}))

    assert first(told_of(at)) == "cpu-ram-oom-kill"


def test_a_timeout_is_told(at: Place) -> None:
    at.type("run", "job.yaml", "--set", "train.max_steps=100000", "--set", "where.timeout=15s", "--despite", "JOB101")

    assert first(told_of(at)) == "job-time-limit"


def test_a_job_that_check_refused_is_diagnosed_by_what_it_found(at: Place) -> None:
    """Nothing ever ran, so there is no log; and where the person goes on in spite of it, TRL's own error says the same."""
    words = ("--set", "train.eval_strategy=steps", "--set", "dataset={path: builtin:stdlib-docstrings, rows: 9}")
    at.type("run", "job.yaml", *words)
    told = told_of(at)
    assert first(told) == "eval-strategy-without-eval-dataset"
    assert "EVL101" in told["causes"][0]["evidence"][0]["text"]


def test_a_good_run_is_healthy(at: Place) -> None:
    at.type("run", "job.yaml", "--set", "train.max_steps=4")

    assert told_of(at)["verdict"] == "healthy"


HEAD = """\
import sys, time
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

rows = Dataset.from_list([{"text": f"{n} plus {n} is {2 * n}"} for n in range(32)])
asked = Dataset.from_list([{"prompt": f"{n} plus {n} is"} for n in range(32)])
class Then(TrainerCallback):
    def __init__(self, step, do):
        self.step, self.do = step, do
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            self.do()
every = {"output_dir": "out", "max_steps": 6, "report_to": "none", "bf16": False, "use_cpu": True, "logging_steps": 1}
def sft(*callbacks, rows=rows, **settings):
    trainer = SFTTrainer(sys.argv[1], args=SFTConfig(**{**every, **settings}), train_dataset=rows, callbacks=list(callbacks))
    trainer.train()
    return trainer
def grpo(reward, **settings):
    config = GRPOConfig(**every, num_generations=2, per_device_train_batch_size=2, max_completion_length=4, **settings)
    GRPOTrainer(sys.argv[1], args=config, train_dataset=asked, reward_funcs=reward).train()
"""
FAULTS = {
    "a file in the user's code is missing": ("sft(Then(2, lambda: {}['no such key']))", "user-code-error"),
    "it leaves amid training": ("sft(Then(2, lambda: sys.exit(0)))", "user-code-error"),
    "it gives up before training": ("sys.exit(3)", "user-code-error"),
    "it goes on as if nothing had been": (
        "try:\n    sft(Then(2, lambda: {}['no such key']))\nexcept KeyError:\n    pass",
        "user-code-error",
    ),
    "an argument that is gone": ("sft(max_seq_length=64)", "trl-config-arg-renamed"),
    "a column that is missing": ("sft(rows=rows.rename_column('text', 'body'))", "dataset-missing-column"),
    "no rows": ("sft(rows=rows.select(range(0)))", "dataset-empty"),
    "no learning rate": ("sft(learning_rate=0.0)", "lr-too-low-flat"),
    "nothing is saved": ("sft(save_strategy='no')", "no-checkpoint-saved"),
    "rewards of None": ("grpo(lambda completions, **_: [None for _ in completions])", "grpo-reward-function-error"),
    "rewards alike": ("grpo(lambda completions, **_: [1.0 for _ in completions])", "grpo-zero-advantage"),
    "a reward that raises": (
        "grpo(lambda completions, **_: [1 / 0 for _ in completions])",
        "grpo-reward-function-error",
    ),
    "a checkpoint that is not there": ("sft().train(resume_from_checkpoint='nowhere')", "checkpoint-not-found"),
    "a model that is not there": ("sys.argv[1] = './no-such-model'\nsft()", "model-path-not-local"),
    "an output folder that is a file": ("open('out', 'w').close()\nsft()", "output-path-not-writable"),
    "a module that is missing": ("import no_such_module_of_mine", "missing-module"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_users_script_that_fails_is_diagnosed(name: str, at: Place, tiny: Path) -> None:
    """By the name of its run."""
    fault, true = FAULTS[name]
    (at.folder / "train.py").write_text(f"{HEAD}{fault}\n")
    at.type("run", "train.py", "--despite", "ARG101", "--", str(tiny))
    told = told_of(at)

    assert first(told) == true, [(each["class"], each["confidence"]) for each in told["causes"]]


HANGS = {
    "a reward that waits for ever": ("grpo(lambda completions, **_: time.sleep(10_000))", "grpo-reward-function-error"),
}


@pytest.mark.parametrize("name", HANGS)
def test_where_a_run_hung_is_told_by_its_stacks(name: str, at: Place, tiny: Path) -> None:
    """Taken before it was ended, as the supervisor does."""
    fault, true = HANGS[name]
    (at.folder / "train.py").write_text(f"{HEAD}{fault}\n")
    running = at.start("run", "train.py", "--format", "json", "--", str(tiny))

    def waits() -> bool:
        to_each(at, signal.SIGUSR1)
        stacks = [*at.folder.glob("runs/*/attempts/1/stacks.txt")]
        return bool(stacks) and "_calculate_rewards" in stacks[0].read_text()

    at.wait_for(waits, running)
    to_each(at, signal.SIGKILL)
    running.communicate(timeout=PATIENCE_S)
    told = told_of(at)

    assert first(told) == true, told["causes"]
    assert told["causes"][0]["evidence"][0]["path"].endswith("stacks.txt")


GOOD = """\
import sys
from datasets import Dataset
import trl

tiny, method, out = sys.argv[1:]
title = "Reward" if method == "reward" else method.upper()
chat = lambda n: [{"role": "user", "content": f"{n} plus {n} is?"}]
answer = lambda n, more=0: [{"role": "assistant", "content": f"{2 * n + more}"}]
row = {
    "sft": lambda n: {"messages": chat(n) + answer(n)},
    "dpo": lambda n: {"prompt": chat(n), "chosen": answer(n), "rejected": answer(n, 1)},
    "reward": lambda n: {"chosen": chat(n) + answer(n), "rejected": chat(n) + answer(n, 1)},
    "kto": lambda n: {"prompt": chat(n), "completion": answer(n, n % 2), "label": n % 2 == 0},
    "grpo": lambda n: {"prompt": chat(n)},
    "rloo": lambda n: {"prompt": chat(n)},
}[method]
train, held_out = (Dataset.from_list([row(n) for n in part]) for part in (range(48), range(48, 64)))
generates = method in ("grpo", "rloo")
more = {"num_generations": 2, "max_completion_length": 8} if generates else {"eval_strategy": "steps", "eval_steps": 6}
every = {"max_steps": 12, "per_device_train_batch_size": 4, "logging_steps": 1, "save_steps": 6, "learning_rate": 1e-4}
config = getattr(trl, f"{title}Config")(out, report_to="none", bf16=False, use_cpu=True, **every, **more)
given = {"reward_funcs": lambda completions, **_: [float(len(str(each))) for each in completions]} if generates else {"eval_dataset": held_out}
getattr(trl, f"{title}Trainer")(tiny, args=config, train_dataset=train, **given).train()
"""


@pytest.mark.parametrize("method", [each.value for each in Method])
def test_the_log_of_a_good_run_of_any_method_is_healthy(method: str, tmp_path: Path, tiny: Path) -> None:
    """By the log alone, and with its script beside it."""
    script, log = tmp_path / "train.py", tmp_path / "train.log"
    script.write_text(GOOD)
    with log.open("wb") as file:
        words = [sys.executable, str(script), str(tiny), method, str(tmp_path / "out")]
        subprocess.run(words, check=True, stdout=file, stderr=file, env=quiet_environment(), cwd=tmp_path)

    for targets in ([str(log)], [str(log), str(script)]):
        assert diagnose(targets)["verdict"] == "healthy", diagnose(targets)["causes"]


def test_a_disk_that_fills_up_is_told(at: Place) -> None:
    small = at.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("a small disk can only be mounted as root")
    try:
        at.type("run", "job.yaml", "--runs", str(small / "runs"))
        told = diagnose(["job"], runs=str(small / "runs"))
        assert first(told) == "disk-full", told["causes"]
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_a_rank_that_dies_is_told(at: Place) -> None:
    """Of two under torchrun; the other one is its victim."""
    running = at.start(
        "run",
        "job.yaml",
        "--format",
        "json",
        "--set",
        "where.processes=2",
        "--set",
        "train.max_steps=100000",
        "--despite",
        "JOB101",
    )
    at.wait_for(lambda: at.steps() >= 2 and len(at.training_processes()) > 1, running)
    os.kill(max(process.pid for process in at.training_processes()), signal.SIGSEGV)
    running.communicate(timeout=PATIENCE_S)

    assert first(told_of(at)) in ("native-crash-segfault", "rank-died-peers-abort")
