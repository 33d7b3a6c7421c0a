"""`holdfast run` from the outside: real training on this machine, stopped and killed in every way, and gone on with."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest

import holdfast
from tests.helpers.run_place import PATIENCE_S, Place, quiet_runs, weights
from tests.helpers.sampling import sampled

ROOT = Path(__file__).parents[3]
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: rows.jsonl
samples: {prompts: 0}
train:
  max_steps: 24
  save_steps: 4
  save_total_limit: 3
  logging_steps: 1
  per_device_train_batch_size: 2
  max_length: 64
  eval_strategy: "no"
"""

ROWS = "".join(
    json.dumps(
        {"messages": [{"role": role, "content": f"{number} plus {number} is"} for role in ("user", "assistant")]}
    )
    + "\n"
    for number in range(200)
)

pytestmark = pytest.mark.train


def make_place(folder: Path, env: dict[str, str]) -> Place:
    """Return a folder with a job in it, and its rows."""
    (folder / "job.yaml").write_text(JOB)
    (folder / "rows.jsonl").write_text(ROWS)
    return Place(folder, env)


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return quiet_runs(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def at(tmp_path: Path, env: dict[str, str]) -> Iterator[Place]:
    """A folder with a job in it; whatever was started there is gone afterwards."""
    yield make_place(tmp_path, env)
    for process in psutil.process_iter(["cmdline"]):
        if str(tmp_path) in " ".join(process.info["cmdline"] or []):
            process.kill()


@pytest.fixture(scope="module")
def straight(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, Any]]:
    """The run that nobody interrupts."""
    place = make_place(tmp_path_factory.mktemp("straight"), env)
    code, answer, err = place.type("run", "job.yaml", "--set", 'evaluate=[{"dataset": "rows.jsonl", "rows": 8}]')
    assert code == 0, err
    return place, answer


def test_a_job_file_becomes_a_whole_model(straight: tuple[Place, dict[str, Any]]) -> None:
    """The answer, the folder and the report are what the contract says; the model is whole."""
    place, answer = straight

    assert (answer["stage"], answer["attempts"][0]["steps"]) == ("succeeded", 24)
    assert answer["run"] == place.run.name
    assert place.type("verify", answer["output"])[1]["verdict"] == "whole"
    (evaluated,) = answer["evaluation"]["datasets"]
    assert (answer["evaluation"]["verdict"], evaluated["metric"], evaluated["rows"]) == ("pass", "loss", 8)
    assert evaluated["verdict"] == "better"
    for name in ("job.yaml", "job.resolved.yaml", "report.html", "attempts/1/attempt.py", "attempts/1/events.jsonl"):
        assert (place.run / name).stat().st_size
    assert (place.run / "job.yaml").read_text() == JOB
    resolved = (place.run / "job.resolved.yaml").read_text()
    assert f"#   trl: {version('trl')}\n" in resolved
    assert f"  path: {place.folder}/rows.jsonl\n" in resolved
    assert f"name: {place.run.name.partition('-2')[0]}\n" in resolved
    assert {path.name for path in place.run.glob("checkpoints/*/*")} >= {"checkpoint-24"}


@pytest.mark.long
def test_the_model_loads_and_generates(straight: tuple[Place, dict[str, Any]]) -> None:
    """As the report tells a newcomer to: with transformers alone, from the folder that the answer names."""
    place, answer = straight
    program = (
        "import sys; from transformers import AutoModelForCausalLM, AutoTokenizer; "
        "model, tokenizer = (each.from_pretrained(sys.argv[1]) for each in (AutoModelForCausalLM, AutoTokenizer)); "
        "chat = [{'role': 'user', 'content': 'What does `print` do?'}]; "
        "asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors='pt', return_dict=True); "
        "print(model.generate(**asked, max_new_tokens=8, min_new_tokens=8).shape[1] - asked['input_ids'].shape[1])"
    )
    words = [sys.executable, "-c", program, answer["output"]]
    told = subprocess.run(words, env=place.env, check=True, capture_output=True, text=True)

    assert told.stdout.strip() == "8"


def test_the_ledger_tells_of_it(straight: tuple[Place, dict[str, Any]]) -> None:
    """`runs`, `show`, `logs` and `watch` find the run by the beginning of its name."""
    place, answer = straight

    assert place.type("runs")[1]["run"] == answer["run"]
    assert place.type("show", "job-2")[1]["stage"] == "succeeded"
    assert "'loss'" in place.type("logs", "job-2")[1]["stdout"]
    code, watched, shown = place.type("watch", "job-2")
    assert (code, watched["stage"]) == (0, "succeeded")
    assert "Traceback" not in shown


def test_a_run_that_was_stopped_goes_on_bit_for_bit(at: Place, straight: tuple[Place, dict[str, Any]]) -> None:
    """Stopped from another process it saves and is cancelled; resumed it ends with the very same weights."""
    running = at.start("run", "job.yaml", "--format", "json")
    at.wait_for(lambda: at.steps() >= 2, running)
    stopped = holdfast.stop("job", runs=at.folder / "runs")  # no new process, which might come too late
    out, _ = running.communicate(timeout=PATIENCE_S)
    saved = {path.name for path in at.run.glob("checkpoints/*/checkpoint-*")}

    assert (stopped["stage"], running.returncode, json.loads(out)["stage"]) == ("cancelled", 1, "cancelled")
    assert f"checkpoint-{stopped['attempts'][0]['steps']}" in saved
    assert not (at.run / "model").exists()

    code, resumed, err = at.type("resume", "job")
    assert (code, resumed["stage"], len(resumed["attempts"])) == (0, "succeeded", 2), err
    assert weights(resumed) == weights(straight[1])


def test_a_training_process_that_was_killed_goes_on_bit_for_bit(
    at: Place, straight: tuple[Place, dict[str, Any]]
) -> None:
    """SIGKILL leaves a failed run that says so; resumed from the newest whole checkpoint the weights are the same."""
    running = at.start("run", "job.yaml", "--format", "json")
    at.wait_for(lambda: at.steps() >= 9, running)
    for process in at.training_processes():
        process.kill()
    out, _ = running.communicate(timeout=PATIENCE_S)
    failed = json.loads(out)

    assert (running.returncode, failed["stage"]) == (1, "failed")
    assert "SIGKILL" in failed["because"]
    newest = max(at.run.glob("checkpoints/*/checkpoint-*"), key=lambda path: int(path.name.partition("-")[2]))
    (newest / "optimizer.pt").write_bytes((newest / "optimizer.pt").read_bytes()[:-100])  # half written

    code, resumed, err = at.type("resume", "job")
    assert (code, resumed["stage"]) == (0, "succeeded"), err
    assert resumed["attempts"][1]["resume_from"] != str(newest)
    assert weights(resumed) == weights(straight[1])


@pytest.mark.long
def test_a_supervisor_that_was_killed_is_replaced(at: Place, straight: tuple[Place, dict[str, Any]]) -> None:
    """The training goes on without it, `resume` takes over, and nothing is started twice or lost."""
    running = at.start("run", "job.yaml", "--quiet")
    at.wait_for(lambda: at.steps() >= 2, running)
    running.kill()
    running.communicate()
    assert len(at.training_processes()) == 1

    code, answer, err = at.type("resume", "job")
    assert (code, answer["stage"], len(answer["attempts"])) == (0, "succeeded", 1), err
    assert weights(answer) == weights(straight[1])
    said = [json.loads(line) for line in (at.run / "attempts/1/events.jsonl").read_text().splitlines()]
    assert [one["step"] for one in said if one["event"] == "step"] == list(range(1, 25))


@pytest.mark.long
def test_one_resume_continues_what_was_killed_together_with_its_supervisor(
    at: Place, straight: tuple[Place, dict[str, Any]]
) -> None:
    """As when the machine goes down: nobody is left to write a verdict."""
    running = at.start("run", "job.yaml", "--quiet")
    at.wait_for(lambda: at.steps() >= 6, running)
    running.kill()
    running.communicate()
    for process in at.training_processes():
        process.kill()

    code, resumed, err = at.type("resume", "job")
    assert (code, resumed["stage"], len(resumed["attempts"])) == (0, "succeeded", 2), err
    assert weights(resumed) == weights(straight[1])


@pytest.mark.parametrize("seconds", sampled([2.5, 0.0, 5.0], 3))
def test_ctrl_c_at_any_stage_saves_and_leaves_with_130(at: Place, seconds: float) -> None:
    """Without a terminal SIGINT stops: the run is cancelled, and nothing half-written is taken for whole."""
    running = at.start("run", "job.yaml", "--format", "json")
    at.wait_for(lambda: [*at.folder.glob("runs/*/attempts/1/guard.json")], running)
    time.sleep(seconds)  # noqa: TID251 - whatever it is doing then
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE_S)

    assert (running.returncode, json.loads(out)["stage"]) == (130, "cancelled"), err
    assert not (at.run / "model").exists()
    assert not at.training_processes()


@pytest.mark.long
def test_sigterm_to_the_supervisor_detaches(at: Place) -> None:
    """Logging out does not cost a run."""
    running = at.start("run", "job.yaml", "--format", "json")
    at.wait_for(lambda: at.steps() >= 1, running)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=PATIENCE_S)

    assert (running.returncode, json.loads(out)["stage"]) == (0, "running")
    assert len(at.training_processes()) == 1


@pytest.mark.long
def test_a_detached_run_is_supervised_in_the_background(at: Place) -> None:
    """`--detach` returns once the attempt is started, for `run` and for `resume`; `watch` follows the run to its end."""
    code, answer, _ = at.type("run", "job.yaml", "--detach", "--set", "train.max_steps=60")
    assert (code, answer["stage"]) == (0, "running")
    at.wait_for(lambda: at.steps() >= 1)
    assert at.type("stop", answer["run"])[1]["stage"] == "cancelled"

    code, answer, _ = at.type("resume", answer["run"], "--detach")
    assert (code, answer["stage"]) == (0, "running")
    end = time.monotonic() + PATIENCE_S
    while at.type("watch", answer["run"])[1]["stage"] != "succeeded":
        assert time.monotonic() < end


@pytest.mark.long
def test_the_timeout_saves_first(at: Place) -> None:
    """A run that takes too long is stopped as by a person, and has failed."""

    def run(timeout: str) -> tuple[int, Any, str]:
        sets = ("--set", "train.max_steps=100000", "--set", f"where.timeout={timeout}")
        return at.type("run", "job.yaml", *sets, "--despite", "JOB101")

    code, answer, err = run("30s")
    if not answer["attempts"][0]["steps"]:  # a slow machine
        code, answer, err = run("120s")

    assert (code, answer["stage"]) == (1, "failed"), err
    assert answer["because"].startswith("stopped by the timeout at step ")
    step = answer["attempts"][0]["steps"]
    assert [*at.run.glob(f"checkpoints/*/checkpoint-{step}/holdfast-manifest.json")]


@pytest.mark.long
def test_two_processes_train_one_model(at: Place) -> None:
    """Under torchrun two ranks make one run: one world of two, one folder, one voice."""
    code, answer, err = at.type("run", "job.yaml", "--set", "where.processes=2", "--set", "train.max_steps=3")
    said = [json.loads(line) for line in (at.run / "attempts/1/events.jsonl").read_text().splitlines()]

    assert (code, answer["stage"]) == (0, "succeeded"), err
    assert next(one["world_size"] for one in said if one["event"] == "start") == 2
    assert [one["step"] for one in said if one["event"] == "step"] == [1, 2, 3]


@pytest.mark.long
@pytest.mark.parametrize("method", ["dpo", "grpo", "kto", "reward", "rloo"])
def test_every_example_runs(at: Place, method: str) -> None:
    """Each method's example ends in a model, as the README says."""
    code, answer, err = at.type("run", str(ROOT / "examples" / f"{method}.yaml"))

    assert (code, answer["stage"], answer["asked"]["method"]) == (0, "succeeded", method), err
    assert (Path(answer["output"]) / "holdfast-manifest.json").exists()


SCRIPT = """\
import sys
from datasets import Dataset
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

class Leave(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 2:
            sys.exit(0)

rows = Dataset.from_list([{"text": f"{n} plus {n} is {2 * n}"} for n in range(32)])
config = SFTConfig(output_dir="out", max_steps=4, report_to="none", bf16=False, use_cpu=True, logging_steps=1)
trainer = SFTTrainer(sys.argv[1], args=config, train_dataset=rows, callbacks=[Leave()] if sys.argv[2:] else [])
trainer.train()
"""


@pytest.mark.long
def test_a_users_own_script_is_supervised(at: Place, straight: tuple[Place, dict[str, Any]]) -> None:
    """It runs as it is; exit code 0 before its last step is no success."""
    (at.folder / "my train.py").write_text(SCRIPT)
    model = straight[1]["output"]

    code, answer, err = at.type("run", "my train.py", "--", model)
    assert (code, answer["stage"], answer["attempts"][0]["steps"]) == (0, "succeeded", 4), err
    assert (at.folder / "out/checkpoint-4/holdfast-manifest.json").exists()

    code, answer, _ = at.type("run", "my train.py", "--", model, "leave")
    assert (code, answer["stage"]) == (1, "failed")
    assert "step" in answer["because"]


def refused(words: Sequence[str], at: Place) -> tuple[int, list[str]]:
    code, answer, _ = at.type("run", "job.yaml", *words)
    codes = [finding["code"] for target in answer["check"]["targets"] for finding in target["findings"]]
    assert answer["stage"] == "failed"
    assert answer["attempts"] == []
    return code, codes


@pytest.mark.long
def test_a_job_with_errors_is_refused_unless_told(at: Place) -> None:
    """The refusal is in the ledger; `--despite` goes on."""
    words = ("--set", "train.eval_strategy=steps", "--set", "dataset={path: builtin:stdlib-docstrings, rows: 9}")
    assert refused(words, at) == (1, ["EVL101"])
    assert at.type("show", "job")[1]["because"] == "refused by check: EVL101"

    code, answer, shown = at.type("run", "job.yaml", *words, "--despite", "EVL101")
    assert (code, len(answer["attempts"])) == (1, 1)  # TRL itself says no, later
    assert "EVL101" in shown.partition("attempt 1")[0]


@pytest.mark.long
def test_a_disk_that_fills_up_loses_nothing(at: Place, straight: tuple[Place, dict[str, Any]]) -> None:
    """A failed save is not taken for a checkpoint, the message says what to do, and then the run goes on."""
    small = at.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("a small disk can only be mounted as root")
    try:
        code, answer, err = at.type("run", "job.yaml", "--runs", str(small / "runs"))
        assert code == 1, err
        assert "disk" in json.dumps(answer)
        assert "holdfast/adapters" not in err  # the training shows its traceback, we show none
        sealed = [path.parent for path in small.glob("runs/*/checkpoints/*/checkpoint-*/holdfast-manifest.json")]
        assert sealed
        assert {at.type("verify", str(path))[1]["verdict"] for path in sealed} == {"whole"}
        assert not [*small.glob("runs/*/model")]

        subprocess.run(["mount", "-o", "remount,size=400m", str(small)], check=True)
        code, answer, err = at.type("resume", "job", "--runs", str(small / "runs"))
        assert (code, answer["stage"], answer["attempts"][-1]["number"]) == (0, "succeeded", 2), err
        assert answer["attempts"][-1]["resume_from"]
        assert weights(answer) == weights(straight[1])
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
