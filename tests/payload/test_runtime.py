"""The runtime that travels: what it says of real trainings, and that it saves, stops and resumes them exactly."""

import hashlib
import importlib
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
import types
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.adapters.payload import load_runtime
from holdfast.adapters.storage.checkpoints import newest_whole, verify_checkpoint
from holdfast.engine.run.attempt import render_attempt
from holdfast.payload import runtime
from tests.helpers.fakes import any_step
from tests.helpers.forked import fork
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

PATIENCE_S = 120
STEPS = 12

TRAIN = '''
"""Trains a tiny model; at the step that `DEED` names, does what a test asks for."""

import os
import signal
import sys

from datasets import Dataset
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

DEED, _, AT = os.environ.get("DEED", "").partition("@")


def chat(row):
    return {"messages": [{"role": "user", "content": f"{row['n']} plus 1 equals?"},
                         {"role": "assistant", "content": f"{row['n'] + 1}."}]}


class Deed(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **_):
        if str(state.global_step) != AT:
            return
        if DEED == "term" or DEED == "term-rank-1" and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGTERM)
        if DEED == "enough":
            control.should_training_stop = True
        if DEED == "break":
            next(model.parameters()).data.fill_(float("nan"))

    def on_step_begin(self, args, state, control, **_):
        if DEED == "break" and state.global_step == int(AT) + 1:
            raise RuntimeError("it broke")

    def on_evaluate(self, args, state, control, **_):
        if DEED == "term-in-evaluation" and str(state.global_step) == AT:
            os.kill(os.getpid(), signal.SIGTERM)

    def on_save(self, args, state, control, **_):
        if DEED == "kill-in-save" and str(state.global_step) == AT:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    model, out = sys.argv[1:]
    rows = Dataset.from_dict({"n": list(range(64))}).map(chat, num_proc=None if DEED else 2)
    settings = SFTConfig(
        output_dir=out, max_steps=12, per_device_train_batch_size=2, learning_rate=1e-3, logging_steps=1, save_steps=5,
        eval_strategy="steps", eval_steps=4, save_total_limit=1, dataloader_num_workers=2, use_cpu=True,
        report_to="none", disable_tqdm=True, hub_token="hf_secret",
    )
    trainer = SFTTrainer(
        model=model, args=settings, train_dataset=rows, eval_dataset=rows.select(range(4)), callbacks=[Deed()]
    )
    try:
        trainer.train()
    except RuntimeError as error:
        print("caught:", error)
    else:
        if DEED == "term-when-trained":
            os.kill(os.getpid(), signal.SIGTERM)
        trainer.save_model(out + "/final")
'''


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that ended."""

    folder: Path
    exit_code: int
    stdout: str
    stderr: str
    events: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def end(self) -> dict[str, Any]:
        assert self.events[-1]["event"] == "end", self.stderr
        return self.events[-1]

    @property
    def order(self) -> list[str]:
        """What happened, in order; a slow machine has heartbeats in between, at any place."""
        return [event["event"] for event in self.events if event["event"] != "heartbeat"]

    def those(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event]

    def weights(self) -> bytes:
        return (self.out / "final" / "model.safetensors").read_bytes()


def runtime_with(name: str, value: str) -> str:
    """Return the runtime with another value for one of its constants."""
    return load_runtime().replace(f"\n{name} = ", f"\n{name} = {value}  # ")


def read_events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def run(folder: Path, script: str, *arguments: str, text: str = "", before: str = "", **variables: str) -> Ended:
    """Run an attempt to its end, with another runtime if asked; `before` is shell that prepares the process."""
    (folder / "attempt.py").write_text(render_attempt(textwrap.dedent(script), "train.py", text or load_runtime()))
    done = subprocess.run(
        ["/bin/sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "attempt.py", *arguments],
        env=quiet_environment(HOLDFAST_ATTEMPT=str(folder), **variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Ended(folder, done.returncode, done.stdout, done.stderr, read_events(folder))


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != runtime.MANIFEST]


def count_parameters(safetensors: Path) -> int:
    data = safetensors.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


@dataclass(frozen=True, slots=True)
class Trainings:
    """Attempts of `TRAIN`, each in a forked process.

    Attributes:
        model: The model that is trained.
    """

    model: Path

    def start(self, folder: Path, **variables: str) -> Ended:
        """Train from the beginning."""
        return self._attempt(folder, folder / "out", variables)

    def resume(self, ended: Ended, folder: Path) -> Ended:
        """Continue as a second attempt of the run would: same output folder, newest whole checkpoint."""
        checkpoint, _ = newest_whole(ended.out, usable=any_step)
        return self._attempt(folder, ended.out, {"HOLDFAST_RESUME": str(checkpoint)})

    def _attempt(self, folder: Path, out: Path, variables: dict[str, str]) -> Ended:
        (folder / "attempt.py").write_text(render_attempt(TRAIN, "train.py", load_runtime()))
        environment = quiet_environment(HOLDFAST_ATTEMPT=str(folder), **variables)
        done = fork(["attempt.py", str(self.model), str(out)], folder, environment)
        return Ended(folder, done.exit_code, done.stdout, done.stderr, read_events(folder))


@pytest.fixture(scope="module")
def trainings(tiny: Path) -> Trainings:
    return Trainings(tiny)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory, trainings: Trainings) -> Ended:
    """A training that nothing disturbed."""
    return trainings.start(tmp_path_factory.mktemp("straight"))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, trainings: Trainings) -> Ended:
    """A training that got SIGTERM in its seventh step."""
    return trainings.start(tmp_path_factory.mktemp("stopped"), DEED="term@7")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, trainings: Trainings) -> Ended:
    """A training that was killed while it saved its second checkpoint."""
    return trainings.start(tmp_path_factory.mktemp("killed"), DEED="kill-in-save@10")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Ended:
    """Two ranks, of which the second alone got SIGTERM."""
    folder = tmp_path_factory.mktemp("pair")
    return run(folder, TRAIN, str(tiny), str(folder / "out"), DEED="term-rank-1@3", HOLDFAST_PROCESSES="2")


@pytest.mark.train
def test_no_model_or_checkpoint_holds_the_token_that_pushes_it(straight: Ended) -> None:
    """`training_args.bin` is shared with the model; the trainer itself has the token again after each save."""
    saved = list(straight.folder.rglob("training_args.bin"))

    assert len(saved) > 1
    assert [
        path
        for path in straight.folder.rglob("*")
        if path.is_file() and path.name not in ("attempt.py", "train.py") and b"hf_secret" in path.read_bytes()
    ] == []


def test_a_token_is_only_away_while_a_model_is_saved() -> None:
    """Even if the save fails; a push after it needs the token."""
    loading = {"token": 2, "revision": "main"}
    trainer = types.SimpleNamespace(
        args=types.SimpleNamespace(hub_token=1, model_init_kwargs=loading, lr_scheduler_kwargs={})
    )

    def fail(trainer: Any) -> None:
        raise OSError(f"no space left for {trainer.args.hub_token} and {trainer.args.model_init_kwargs}")

    with pytest.raises(OSError, match=r"for None and {'token': None, 'revision': 'main'}"):
        runtime.save_without_token(fail, trainer)
    assert (trainer.args.hub_token, loading) == (1, {"token": 2, "revision": "main"})


@pytest.mark.train
def test_events_tell_a_training_in_order(straight: Ended) -> None:
    """Start, every step, evaluations and checkpoints where they happened, and the end."""
    told = [(event["event"], event["step"]) for event in straight.events if event["event"] != "heartbeat"]
    expected: list[tuple[str, int]] = [("start", 0)]
    for step in range(1, STEPS + 1):
        expected.append(("step", step))
        expected += [("evaluate", step)] * (step % 4 == 0) + [("checkpoint", step)] * (step % 5 == 0 or step == STEPS)

    assert straight.exit_code == 0, straight.stderr
    assert told == [*expected, ("model", STEPS), ("end", STEPS)]
    assert (straight.end["status"], straight.end["because"]) == ("finished", "reached max_steps")


@pytest.mark.train
def test_a_start_tells_what_is_trained_and_no_secret(straight: Ended, tiny: Path) -> None:
    """Configuration, model, versions and hardware are told once."""
    start = straight.those("start")[0]

    assert start["config"]["learning_rate"] == 1e-3
    assert "hf_secret" not in json.dumps(straight.events)
    assert (start["model"], start["max_steps"]) == ("Qwen2ForCausalLM", STEPS)
    assert start["parameters"] == start["trainable"] == count_parameters(tiny / "model.safetensors")
    assert {"python", "torch", "transformers", "trl"} <= start["versions"].keys()
    assert (start["world_size"], start["hardware"]) == (1, ["cpu"])


@pytest.mark.train
@pytest.mark.parametrize(("use_cpu", "names"), [(True, ["cpu"]), (False, ["a card"])])
def test_a_training_on_the_processor_asks_nothing_of_a_gpu(
    use_cpu: bool,
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`get_device_name` opens a context, which takes memory of a GPU that another job may need."""
    asked: list[int] = []

    def name_device(index: int) -> str:
        asked.append(index)
        return "a card"

    cuda = SimpleNamespace(device_count=lambda: 1, get_device_name=name_device)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))

    assert runtime.name_devices(SimpleNamespace(use_cpu=use_cpu)) == names
    assert bool(asked) is not use_cpu


def test_a_step_tells_its_figures(straight: Ended) -> None:
    """Loss, gradient norm, learning rate, tokens so far, seconds, memory."""
    steps = straight.those("step")

    assert steps[-1]["loss"] < steps[0]["loss"]
    assert all(step["grad_norm"] > 0 and step["learning_rate"] > 0 and step["elapsed_s"] > 0 for step in steps)
    assert all(before["tokens"] < after["tokens"] for before, after in itertools.pairwise(steps))
    assert all(step["memory_bytes"] > 100e6 and step["nan"] == [] for step in steps)
    assert "mean_token_accuracy" in steps[0]["metrics"]
    assert straight.those("evaluate")[0]["metrics"]["eval_loss"] > 0


@pytest.mark.train
def test_checkpoints_and_the_saved_model_are_whole(straight: Ended) -> None:
    """Each has its manifest; the limit on checkpoints is kept."""
    last = straight.out / f"checkpoint-{STEPS}"
    told = straight.those("checkpoint")[-1]

    assert list(straight.out.glob("checkpoint-*")) == [last]
    assert [verify_checkpoint(folder).verdict for folder in (last, straight.out / "final")] == ["whole", "whole"]
    assert Path(told["path"]) == last
    assert told["bytes"] == sum(path.stat().st_size for path in files_of(last))


@pytest.mark.train
def test_the_saved_model_is_reported(straight: Ended, tiny: Path) -> None:
    """Once, though the trainer calls `save_pretrained` for it, and for each checkpoint; with what training began with."""
    (told,) = straight.those("model")
    final = straight.out / "final"

    assert (told["path"], told["inside"]) == (str(final), None)
    assert told["bytes"] == sum(path.stat().st_size for path in files_of(final))
    assert straight.those("start")[0]["base"] == str(tiny)


class SavedModel:
    """A model as transformers and PEFT have them, which writes one file."""

    def save_pretrained(self, save_directory: Path, **_: Any) -> str:
        """Save it."""
        save_directory.mkdir(exist_ok=True)
        (save_directory / "config.json").write_text("{}")
        return "saved"

    def push_to_hub(self, folder: Path) -> None:
        """Save it for an upload."""
        self.save_pretrained(folder)


def test_what_a_script_saves_itself_is_sealed_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its place in the run's folder if it has one; not what is saved for an upload, within a checkpoint, or under another name first."""
    monkeypatch.setenv("HOLDFAST_RUN", str(tmp_path))
    attempt = runtime.AttemptProcess(tmp_path / "attempt")
    model = type("Model", (SavedModel,), {})
    runtime.watch_saves(model, attempt)
    saved = model()

    assert saved.save_pretrained(save_directory=tmp_path / "final") == "saved"
    saved.push_to_hub(tmp_path / "uploaded")
    saved.save_pretrained(tmp_path / "model.partial")
    attempt.phase = "save"
    saved.save_pretrained(tmp_path / "checkpoint-2")

    reported = [(each["path"], each["inside"], each["bytes"]) for each in read_events(tmp_path / "attempt")]
    assert reported == [(str(tmp_path / "final"), "final", 2)]
    assert sorted(path.parent.name for path in tmp_path.rglob(runtime.MANIFEST)) == ["final", "model.partial"]


@pytest.mark.train
def test_sigterm_saves_before_it_stops(stopped: Ended) -> None:
    """The step under way is finished, saved whole, and told; the script goes no further."""
    assert stopped.exit_code == 128 + signal.SIGTERM
    assert (stopped.end["status"], stopped.end["because"], stopped.end["step"]) == ("stopped", "SIGTERM", 7)
    assert verify_checkpoint(stopped.out / "checkpoint-7").verdict == "whole"
    assert not (stopped.out / "final").exists()


@pytest.mark.train
@pytest.mark.parametrize("deed", ["term@12", "term-when-trained"])
def test_sigterm_after_the_last_step_lets_the_script_save_its_model(
    deed: str, trainings: Trainings, tmp_path: Path
) -> None:
    """Nothing is left to train: what ends so has finished, and its model is there."""
    ended = trainings.start(tmp_path, DEED=deed)

    assert (ended.exit_code, ended.end["status"], ended.end["step"]) == (0, "finished", STEPS)
    assert [verify_checkpoint(ended.out / each).verdict for each in (f"checkpoint-{STEPS}", "final")] == ["whole"] * 2


@pytest.mark.train
def test_a_stopped_training_continues_exactly(
    stopped: Ended, straight: Ended, trainings: Trainings, tmp_path: Path
) -> None:
    """Its weights are in the end those of an undisturbed training, bit for bit."""
    after = trainings.resume(stopped, tmp_path)

    assert [step["step"] for step in after.those("step")] == list(range(8, STEPS + 1))
    assert (after.those("start")[0]["step"], after.end["status"]) == (7, "finished")
    assert (stopped.out / "final" / "model.safetensors").read_bytes() == straight.weights()


@pytest.mark.train
def test_a_killed_training_continues_from_the_last_whole_checkpoint(
    killed: Ended,
    straight: Ended,
    trainings: Trainings,
    tmp_path: Path,
) -> None:
    """The one that was being written is passed over; and no older one is deleted before its successor is whole."""
    assert killed.exit_code == -signal.SIGKILL
    assert killed.events[-1]["event"] != "end"
    whole, passed_over = newest_whole(killed.out, usable=any_step)
    assert whole == killed.out / "checkpoint-5"
    assert [(each.step, each.verdict) for each in passed_over] == [(10, "unverifiable")]

    after = trainings.resume(killed, tmp_path)

    assert after.those("step")[0]["step"] == 6
    assert (killed.out / "final" / "model.safetensors").read_bytes() == straight.weights()


@pytest.mark.train
def test_what_was_trained_to_the_end_trains_no_further(straight: Ended, trainings: Trainings, tmp_path: Path) -> None:
    """Transformers alone would train one step more."""
    before = straight.weights()
    after = trainings.resume(straight, tmp_path)

    assert (after.those("step"), after.end["status"], after.end["step"]) == ([], "finished", STEPS)
    assert straight.weights() == before


@pytest.mark.long
@pytest.mark.train
def test_two_ranks_stop_together(pair: Ended) -> None:
    """One was asked, both save; one speaks; the manifest covers what each wrote."""
    state = json.loads((pair.out / "checkpoint-3" / "holdfast-manifest.json").read_text())

    assert verify_checkpoint(pair.out / "checkpoint-3").verdict == "whole"
    assert {"rng_state_0.pth", "rng_state_1.pth"} <= state["files"].keys()
    assert (state["step"], state["world_size"]) == (3, 2)
    assert [step["step"] for step in pair.those("step")] == [1, 2, 3]
    assert (pair.end["status"], pair.end["because"]) == ("stopped", "SIGTERM")
    assert pair.exit_code != 0
    assert sorted(path.name for path in (pair.folder / "pids").iterdir()) == ["rank-0", "rank-1"]


@pytest.mark.long
@pytest.mark.train
def test_two_ranks_leave_together_if_the_settings_changed(pair: Ended, tiny: Path, tmp_path: Path) -> None:
    """None trains a step, none waits for the other, and both say why."""
    script = TRAIN.replace("learning_rate=1e-3", "learning_rate=2e-3")
    checkpoint = str(pair.out / "checkpoint-3")
    ended = run(tmp_path, script, str(tiny), str(pair.out), HOLDFAST_PROCESSES="2", HOLDFAST_RESUME=checkpoint)
    ends = [json.loads(path.read_text())["reason"] for path in (tmp_path / "ranks").glob("end-*.json")]

    assert (ended.those("step"), ended.end["reason"]) == ([], "settings-changed"), ended.stderr
    assert ended.those("resume")[0]["changes"] == [{"key": "learning_rate", "before": 1e-3, "after": 2e-3}]
    assert ends == ["settings-changed"] * 2


@pytest.mark.train
def test_a_failure_that_the_script_swallows_is_one(trainings: Trainings, tmp_path: Path) -> None:
    """Nor does a NaN hide: the trainer logs a loss of 0 and says nothing."""
    broken = trainings.start(tmp_path, DEED="break@2")
    third = broken.those("step")[2]

    assert "caught: it broke" in broken.stdout
    assert (broken.exit_code, broken.end["status"], broken.end["because"]) == (1, "failed", "RuntimeError: it broke")
    assert (third["loss"], third["grad_norm"]) == (0, None)
    assert "grad_norm" in third["nan"]


@pytest.mark.train
def test_a_training_that_a_callback_ends_is_finished(trainings: Trainings, tmp_path: Path) -> None:
    """Early stopping is no failure."""
    enough = trainings.start(tmp_path, DEED="enough@2")

    assert (enough.exit_code, enough.end["status"]) == (0, "finished")
    assert enough.end["because"] == "a callback stopped training at step 2"


@pytest.mark.train
def test_sigterm_during_an_evaluation_lets_it_end(trainings: Trainings, tmp_path: Path) -> None:
    """The evaluation is told, the next step is the last."""
    ended = trainings.start(tmp_path, DEED="term-in-evaluation@4")

    assert ended.order[-4:] == ["evaluate", "step", "checkpoint", "end"]
    assert (ended.exit_code, ended.end["step"]) == (143, 5)


def test_a_script_without_a_trainer_is_told_too(tmp_path: Path) -> None:
    """It ends as it likes; no step is known."""
    ended = run(tmp_path, "print('done')")

    assert (ended.exit_code, ended.stdout) == (0, "done\n")
    assert (ended.end["status"], ended.end["step"]) == ("finished", None)


def test_a_failing_script_shows_its_own_lines(tmp_path: Path) -> None:
    """The traceback is the one it would have by itself, and the end says where."""
    ended = run(tmp_path, "import sys\n\n\ndef fail():\n    raise ValueError('no data')\n\n\nfail()\n")

    assert ended.exit_code == 1
    assert ended.stderr.startswith(
        'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n    fail()'
    )
    assert "attempt.py" not in ended.stderr
    assert (ended.end["status"], ended.end["because"]) == ("failed", "ValueError: no data")
    assert ended.end["where"] == "train.py:5"


def test_a_syntax_error_is_shown_as_one(tmp_path: Path) -> None:
    """Name and line are the script's."""
    ended = run(tmp_path, "x = 1\nprint(\n")

    assert 'File "train.py", line 2' in ended.stderr
    assert "attempt.py" not in ended.stderr
    assert ended.end["because"].startswith("SyntaxError")


@pytest.mark.parametrize(("call", "code"), [("sys.exit(3)", 3), ("sys.exit('no')", 1)])
def test_an_exit_code_is_passed_on(tmp_path: Path, call: str, code: int) -> None:
    """A script that exits by itself with an error has failed."""
    ended = run(tmp_path, f"import sys\n{call}\n")

    assert (ended.exit_code, ended.end["status"]) == (code, "failed")


CHILDREN = """
    import inspect
    import multiprocessing
    import os
    import signal
    import sys

    def double(number):
        return 2 * number

    def listens(_):
        return signal.getsignal(signal.SIGTERM) != signal.SIG_DFL

    if __name__ == "__main__":
        print(inspect.getsource(double).strip().splitlines()[-1].strip())
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(1) as pool:
                print(method, pool.map(double, [1, 2]), pool.map(listens, [0]))
        print(sys.argv, __name__, os.path.basename(__file__))
"""


def test_a_script_is_itself_to_its_children(tmp_path: Path) -> None:
    """Source, functions in forked and spawned children, arguments, name; children do not hear its signals."""
    ended = run(tmp_path, CHILDREN, "--rows", "two words")

    assert ended.stdout.splitlines() == [
        "return 2 * number",
        "fork [2, 4] [False]",
        "spawn [2, 4] [False]",
        "['train.py', '--rows', 'two words'] __main__ train.py",
    ]
    assert ended.order == ["end"]


ASKED = """
    import os
    import signal
    import time

    try:
        os.kill(os.getpid(), signal.{first})
        {more}
    finally:
        {cleanup}
        print("cleaned up")
"""
AGAIN = "os.kill(os.getpid(), signal.SIGTERM)"


@pytest.mark.parametrize("first", ["SIGTERM", "SIGINT"])
def test_a_signal_outside_of_training_stops_in_order(tmp_path: Path, first: str) -> None:
    """SIGINT too, which shells have what they start in the background ignore; the launcher's echo does not hurry it."""
    script = ASKED.format(first=first, more="print('not reached')", cleanup=AGAIN)
    ended = run(tmp_path, script, before="trap '' INT;")

    assert (ended.exit_code, ended.stdout) == (143, "cleaned up\n")
    assert (ended.end["status"], ended.end["because"]) == ("stopped", first)


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    """Whoever asks again does not want to wait for the script to clean up."""
    script = ASKED.format(first="SIGTERM", more="", cleanup=AGAIN)
    ended = run(tmp_path, script, text=runtime_with("ECHO_S", "0.0"))

    assert (ended.exit_code, ended.stdout) == (143, "")
    assert ended.end["status"] == "stopped"


def test_stacks_are_written_on_request(tmp_path: Path) -> None:
    """SIGUSR1 shows where the main thread is, and ends nothing."""
    script = "import os, signal\n\n\ndef stuck():\n    os.kill(os.getpid(), signal.SIGUSR1)\n\n\nstuck()\nprint('on')\n"
    ended = run(tmp_path, script)

    assert ended.stdout == "on\n"
    assert 'File "train.py", line 5 in stuck' in (tmp_path / "stacks.txt").read_text()


def test_a_job_with_busy_threads_survives_every_request(tmp_path: Path) -> None:
    """It did not while the stacks of all threads were walked: it died within some thirty requests."""
    script = """
import os, subprocess, sys, threading

def deep(n):
    return 0 if not n else deep(n - 1) + len([each for each in range(3)])

def work():
    while not over:
        for depth in (5, 50, 200, 700):
            deep(depth)
        short = threading.Thread(target=deep, args=(90,))
        short.start()
        short.join()

over = False
threads = [threading.Thread(target=work) for _ in range(3)]
for each in threads:
    each.start()
asks = "import os, signal, time\\nfor _ in range(500):\\n    os.kill(%d, signal.SIGUSR1)\\n    time.sleep(0.002)"
asking = subprocess.Popen([sys.executable, "-c", asks % os.getpid()])
while asking.poll() is None:
    deep(30)
over = True
print("alive")
"""
    ended = run(tmp_path, script)
    assert (ended.exit_code, ended.stdout) == (0, "alive\n")


def test_a_heartbeat_tells_what_goes_on(tmp_path: Path) -> None:
    """It comes from a thread of its own while the script is busy elsewhere."""
    script = """
        import os, pathlib
        events = pathlib.Path(os.environ["HOLDFAST_ATTEMPT"], "events.jsonl")
        while not events.read_text():
            pass
    """
    ended = run(tmp_path, script, text=runtime_with("HEARTBEAT_S", "0.01"))

    assert (ended.events[0]["event"], ended.events[0]["phase"]) == ("heartbeat", "import")
    assert ended.events[0]["activity"] == "import"
    assert ended.events[0]["idle_s"] > 0


def test_a_process_that_was_stopped_was_not_idle_meanwhile(tmp_path: Path) -> None:
    """Neither by its heartbeats, when it goes on."""
    script = """
        import os, pathlib, subprocess, time
        events = pathlib.Path(os.environ["HOLDFAST_ATTEMPT"], "events.jsonl")
        while not events.read_text():
            time.sleep(0.01)
        subprocess.run(["sh", "-c", f"kill -STOP {os.getpid()}; (sleep 1.5; kill -CONT {os.getpid()}) &"])
        before = len(events.read_text())
        while len(events.read_text()) < before + 2000:
            time.sleep(0.01)
    """
    ended = run(tmp_path, script, text=runtime_with("HEARTBEAT_S", "0.05"))
    idle = [beat["idle_s"] for beat in ended.those("heartbeat")]
    gaps = [later["at"] - earlier["at"] for earlier, later in itertools.pairwise(ended.those("heartbeat"))]

    assert max(gaps) > 1.0
    assert max(later - earlier for earlier, later in itertools.pairwise(idle)) < 1.0


def test_a_rank_whose_launcher_died_leaves(tmp_path: Path) -> None:
    """Nothing would end it if another rank failed; how it ended is written down for each rank, whichever it is."""
    (tmp_path / "attempt.py").write_text(
        render_attempt(
            "import time\nwhile True:\n    time.sleep(0.01)\n", "train.py", runtime_with("HEARTBEAT_S", "0.05")
        )
    )
    launcher = "import os, subprocess, sys, time; rank = subprocess.Popen([sys.executable, 'attempt.py']); "
    registered = "while not os.path.exists('pids/rank-1'): time.sleep(0.01)\n"
    environment = quiet_environment(HOLDFAST_ATTEMPT=str(tmp_path), TORCHELASTIC_RUN_ID="x", RANK="1", WORLD_SIZE="2")
    script = launcher.replace("; ", "\n") + registered + "os.kill(os.getpid(), 9)"
    subprocess.run(  # which waits for the rank too: it holds the pipes
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        timeout=PATIENCE_S,
        check=False,
        capture_output=True,
    )
    end = tmp_path / "ranks" / "end-1.json"

    assert json.loads(end.read_text())["reason"] == "launcher-died"


@pytest.mark.parametrize("lease", ["0", "1000"])
def test_what_nobody_supervises_ends_at_its_time_limit(tmp_path: Path, lease: str) -> None:
    """Not before a supervisor had the time to end it itself."""
    text = runtime_with("HEARTBEAT_S", "0.05").replace("\nLEASE_S = ", f"\nLEASE_S = {lease}  # ")
    script = "import time\nfor _ in range(100):\n    time.sleep(0.01)\n" + (
        "while True: pass\n" if lease == "0" else ""
    )
    ended = run(tmp_path, script, text=text, HOLDFAST_TIMEOUT="0.2")

    assert ended.end["reason"] == ("timeout" if lease == "0" else "finished")
    assert ended.exit_code == (runtime.STOPPED if lease == "0" else 0)


def test_a_script_on_disk_goes_by_its_place(tmp_path: Path) -> None:
    """What stands beside it can be imported; another file of that name is not taken for it."""
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    script = "import beside\nprint(beside.VALUE, __file__)\n"
    assert run(tmp_path, script).stdout == "7 train.py\n"
    (tmp_path / "train.py").write_text(script)
    assert run(tmp_path, script).stdout == f"7 {tmp_path / 'train.py'}\n"


def test_a_training_that_ran_out_of_data_has_failed() -> None:
    """Exit code 0 is not success."""
    assert runtime.judge(40, 100, told_to_stop=False) == (
        "failed",
        "data-exhausted",
        "the data ran out at step 40 of 100",
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"max_grad_norm": float("inf")}, {"max_grad_norm": "inf"}),
        (
            {"hub_token": "hf_x", "token": None, "inner": {"api_key": "k"}},
            {"hub_token": "***", "token": None, "inner": {"api_key": "***"}},
        ),
        ({"paths": (Path("a"), 1), 2: True}, {"paths": ["a", 1], 2: True}),
    ],
)
def test_a_configuration_is_told_as_json_can_hold_it(value: Any, told: Any) -> None:
    """Without secrets, however deep."""
    assert runtime.plain(value) == told
    json.dumps(told, allow_nan=False)


def test_a_training_of_few_steps_logs_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `logging_steps` beyond its steps it would end without a figure."""
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False), __version__="2")
    )
    attempt = runtime.AttemptProcess(tmp_path)
    stop: Any = SimpleNamespace(agreed=lambda _: False)
    watch = runtime.TrainerWatch(SimpleNamespace(), attempt, stop, [], [])
    arguments = SimpleNamespace(device="cpu")
    state = SimpleNamespace(max_steps=2, num_input_tokens_seen=0, epoch=0.5)
    controls = [SimpleNamespace(should_log=False, should_training_stop=False) for _ in range(2)]

    for state.global_step, control in enumerate(controls, start=1):
        watch.on_step_end(arguments, state, control)
    watch.on_log(arguments, state, controls[-1], {"loss": 0.5, "rewards/margins": 0.25})

    assert [control.should_log for control in controls] == [False, True]
    assert [(each["step"], each["loss"]) for each in read_events(tmp_path)] == [(1, None), (2, 0.5)]


@pytest.mark.parametrize(
    ("loads", "value", "reported"), [(True, 0.5, [0.5]), (True, float("nan"), [None]), (False, 0.5, [])]
)
def test_the_best_checkpoint_is_reported_where_the_trainer_loads_it(
    tmp_path: Path, loads: bool, value: float, reported: list[float | None]
) -> None:
    """The model is that one's then, whatever step was the last."""
    stop: Any = SimpleNamespace(agreed=lambda _: False, trained=False)
    watch = runtime.TrainerWatch(SimpleNamespace(), runtime.AttemptProcess(tmp_path), stop, [], [])
    arguments = SimpleNamespace(device="cpu", load_best_model_at_end=loads, metric_for_best_model="eval_f1")
    state = SimpleNamespace(global_step=6, max_steps=6, best_model_checkpoint="out/checkpoint-4", best_metric=value)

    watch.on_train_end(arguments, state, SimpleNamespace(should_training_stop=True, should_epoch_stop=False))

    best = [each for each in read_events(tmp_path) if each["event"] == "best"]
    assert [each["value"] for each in best] == reported
    assert all((each["checkpoint"], each["metric"]) == ("out/checkpoint-4", "eval_f1") for each in best)


def test_rows_are_the_same_by_their_content_and_order() -> None:
    """However they were made; what has no table of rows is not described, and images, which may be paths, are left out."""
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"ids": [[n, n + 1] for n in range(3000)], "text": ["a"] * 3000})
    again = datasets.Dataset.from_list(rows.to_list())
    with_images = rows.add_column("image", ["/here/a.png"] * 3000).cast_column("image", datasets.Image())
    with_reference = rows.add_column("ref_chosen_logps", [0.5] * 3000)
    told = runtime.fingerprint_rows(rows)

    assert runtime.fingerprint_rows(with_reference) == told
    assert told.startswith("3000 rows, ")
    assert (runtime.fingerprint_rows(again), runtime.fingerprint_rows(with_images)) == (told, told)
    assert len({told, *map(runtime.fingerprint_rows, (rows.select(range(2999)), rows.shuffle(seed=1)))}) == 3
    assert [runtime.fingerprint_rows(each) for each in (None, rows.to_iterable_dataset(), [1, 2])] == ["", "", ""]


def test_rows_are_read_without_filling_the_memory() -> None:
    """Of long rows, the beginning and the length of each column count; none becomes Python objects."""
    datasets = pytest.importorskip("datasets")
    long = [[0] * 50_000 for _ in range(20)]
    rows = datasets.Dataset.from_dict({"long": long, "short": list(range(20))})
    tracemalloc.start()
    told = runtime.fingerprint_rows(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 2e6
    others = (
        {"long": [*long[:-1], long[-1][1:]]},
        {"short": [*range(19), 7]},
        {"long": [*long[:-1], [1, *long[-1][1:]]]},
    )
    changed = [datasets.Dataset.from_dict({**rows.to_dict(), **other}) for other in others]
    assert len({told, *map(runtime.fingerprint_rows, changed)}) == 4


@pytest.mark.parametrize("sizes", [[3], [100] * 4, [1, 1000, 5], []])
def test_of_many_bytes_only_so_many_are_hashed(sizes: list[int]) -> None:
    """Short buffers are hashed whole, so that a long one beside them does not hide them."""
    digest = hashlib.sha256()
    read = runtime.hash_heads(digest, [memoryview(bytes(size)) for size in sizes], 90)

    assert read == min(90, sum(sizes)) or (read < 90 and max(sizes) > 90)
    assert (digest.digest() != hashlib.sha256().digest()) == bool(sizes)


def test_equal_content_has_equal_buffers_whatever_it_is_a_slice_of() -> None:
    """Of each type that a dataset has, with and without values that are missing."""
    arrow = pytest.importorskip("pyarrow")
    importlib.import_module("pyarrow.compute")
    ints, texts = [[1, 2], None, [3, 4]], ["a", None, "bb"]
    records: list[Any] = [{"a": text, "b": numbers} for text, numbers in zip(texts, ints, strict=True)]
    columns: list[tuple[list[Any], list[Any]]] = [
        (ints, [arrow.list_(arrow.int64()), arrow.large_list(arrow.int8()), arrow.list_(arrow.int32(), 2)]),
        (texts, [arrow.string(), arrow.large_string(), arrow.dictionary(arrow.int8(), arrow.string())]),
        ([b"ab", None, b"cd"], [arrow.binary(), arrow.binary(2)]),
        ([True, None, False], [arrow.bool_()]),
        ([1, None, 0], [arrow.float32(), arrow.timestamp("us")]),
        ([None, records[0], records[2]], [arrow.struct({"a": arrow.string(), "b": arrow.list_(arrow.int64())})]),
        ([records, None, []], [arrow.list_(arrow.struct({"a": arrow.string(), "b": arrow.list_(arrow.int64())}))]),
        ([None, None, None], [arrow.null()]),
    ]
    for values, kinds in columns:
        for kind, start in itertools.product(kinds, range(3)):
            part, alone = arrow.array(values, kind).slice(start), arrow.array(values[start:], kind)
            assert [bytes(each) for each in runtime.content_of(part)] == [
                bytes(each) for each in runtime.content_of(alone)
            ]


def test_only_settings_that_both_have_are_compared(tmp_path: Path) -> None:
    """A checkpoint of another release may lack some; one without a manifest, or with an unreadable one, has none."""
    (tmp_path / runtime.MANIFEST).write_text('{"settings": {"seed": 1, "optim": "adamw", "gone": 2}}')
    saved = runtime.saved_settings(tmp_path)

    assert runtime.changed_settings(saved, {"seed": 2, "optim": "adamw", "new": 3}) == [
        {"key": "seed", "before": 1, "after": 2}
    ]
    for text in ("", "[]", '{"settings": 7}', '{"files": {}}'):
        (tmp_path / runtime.MANIFEST).write_text(text)
        assert runtime.saved_settings(tmp_path) == {}
    assert runtime.saved_settings(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [({}, False), ({"seed": 2}, False), ({"seed": 3}, True), ({"seed": None}, True), ({"data": None}, False)],
)
def test_a_change_is_accepted_by_its_value_or_by_its_name(accepted: dict[str, Any], expected: bool) -> None:
    """None stands for any value."""
    assert runtime.is_accepted({"key": "seed", "before": 1, "after": 3}, accepted) is expected


def stop_of(attempt: runtime.AttemptProcess, monkeypatch: pytest.MonkeyPatch) -> runtime.StopRequest:
    """Return the stop request of an attempt that takes no signal away from the tests."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)
    return runtime.StopRequest(attempt)


GOES_ON = SimpleNamespace(should_training_stop=False)


def saving(folder: Path, strategy: str = "steps") -> SimpleNamespace:
    """Return the arguments of a trainer that saves into a folder."""
    return SimpleNamespace(output_dir=str(folder), device="cpu", process_index=0, world_size=1, save_strategy=strategy)


def test_an_upload_of_a_checkpoint_waits_for_its_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Trainer` pushes before its callbacks have seen the save; older checkpoints are deleted after that."""
    folder = tmp_path / "checkpoint-1"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    order: list[str] = []
    stop: Any = SimpleNamespace(agreed=lambda _: False)
    monkeypatch.setattr(runtime, "largest_of_ranks", lambda number, _: number)
    pushes = [lambda: order.append(f"push {(folder / runtime.MANIFEST).exists()}")]
    watch = runtime.TrainerWatch(
        SimpleNamespace(), runtime.AttemptProcess(tmp_path), stop, pushes, [lambda: order.append("rotate")]
    )
    watch.on_save(saving(tmp_path), SimpleNamespace(global_step=1, max_steps=2), GOES_ON)

    assert order == ["push True", "rotate"]


@pytest.mark.parametrize(
    ("free", "step", "strategy", "leaves"),
    [
        (3, 1, "steps", True),
        (4000, 1, "steps", False),
        (3, 2, "steps", False),
        (None, 1, "steps", False),
        (3, 1, "is over", False),
        (3, 1, "best", False),
    ],
)
def test_a_training_ends_before_a_save_that_cannot_fit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int | None,
    step: int,
    strategy: str,
    *,
    leaves: bool,
) -> None:
    """When the one before is whole, and nothing is lost. Not if none need follow, nor if the file system does not tell what is free."""
    usage = SimpleNamespace(total=10_000 if free is not None else 0, free=free or 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    distributed = SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(distributed=distributed, __version__="2"))
    folder = tmp_path / f"checkpoint-{step}"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(bytes(2000))
    attempt = runtime.AttemptProcess(tmp_path)
    stop = stop_of(attempt, monkeypatch)
    watch = runtime.TrainerWatch(SimpleNamespace(), attempt, stop, [], [])
    control = SimpleNamespace(should_training_stop=strategy == "is over")

    with pytest.raises(SystemExit) if leaves else nullcontext():
        watch.on_save(saving(tmp_path, strategy), SimpleNamespace(global_step=step, max_steps=2), control)

    assert (attempt.ending.reason == "disk-full") == leaves
    assert (folder / runtime.MANIFEST).exists()


ACCOUNT = {
    "strategy": "a mixture", "seed": 7, "rows": 9, "of": 20, "held_out": 1, "sha256": "ab", "strata": {"math": 6}, "weights": {"a": 0.5},
    "datasets": [{"dataset": "a", "weight": 0.5, "rows": 3, "of": 8, "strategy": "the first rows"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (json.dumps(ACCOUNT), ACCOUNT),
        ('{"rows": NaN, "weight": Infinity, "strategy": ["x"], "seed": true, "other": 1, "of": 4}', {"of": 4}),
        (
            '{"strata": {"a": NaN, "b": 2, "c": "d"}, "datasets": [7, {"dataset": 1}]}',
            {"strata": {"b": 2}, "datasets": [{}, {}]},
        ),
        (json.dumps({"strategy": "x" * 300_000}), {}),
        ("[" * 200_000, {}),
        ("[1]", {}),
        ("no JSON", {}),
    ],
    ids=range(7),
)
def test_of_an_account_of_rows_what_is_known_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, known: dict[str, Any]
) -> None:
    """Any program may write such a file; outside of a run there is none, whatever lies in the folder that the script works in."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "data.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUN", raising=False)
    assert runtime.read_account() == {}
    monkeypatch.setenv("HOLDFAST_RUN", "")
    assert runtime.read_account() == {}
    monkeypatch.setenv("HOLDFAST_RUN", str(tmp_path))
    assert runtime.read_account() == known
    runtime.AttemptProcess(tmp_path / "attempt").write("start", data=runtime.read_account())


@pytest.mark.parametrize(("rank", "seed", "leaves"), [(0, 2, True), (1, 2, True), (0, 1, False), (1, 1, False)])
def test_rank_0_compares_and_all_ranks_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, seed: int, *, leaves: bool
) -> None:
    """One whose files or settings differ goes the way of the others; the signal by which a launcher ends the rest changes no ending."""
    monkeypatch.setenv("RANK", str(rank))
    (tmp_path / runtime.MANIFEST).write_text('{"settings": {"seed": 1}}')
    attempt = runtime.AttemptProcess(tmp_path / "attempt")
    stop = stop_of(attempt, monkeypatch)
    watch = runtime.TrainerWatch(SimpleNamespace(), attempt, stop, [], [])
    monkeypatch.setattr(watch, "_settings", {"seed": seed if rank == 0 else 2})
    verdicts = list[int]()

    def of_ranks(number: int, _device: Any) -> int:
        verdicts.append(number)
        return int(leaves)

    monkeypatch.setattr(runtime, "largest_of_ranks", of_ranks)
    attempt.resumes = tmp_path
    with pytest.raises(SystemExit) if leaves else nullcontext():
        watch._compare_with_checkpoint(SimpleNamespace(process_index=rank, device="cpu"))
    if leaves:
        stop._hear(signal.SIGTERM, None)

    assert verdicts == [int(leaves and not rank)]
    assert attempt.ending.reason == ("settings-changed" if leaves else "finished")


@pytest.mark.parametrize("given", [None, True, "/out/checkpoint-7"])
@pytest.mark.parametrize("base", ["", "1"])
def test_a_checkpoint_from_elsewhere_is_for_the_first_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, given: object
) -> None:
    """Even if its folder has checkpoints; without that, they show that another trainer is meant. That it was passed over is reported."""
    resume = str(tmp_path / "elsewhere" / "checkpoint-4")
    (tmp_path / "out" / "checkpoint-2").mkdir(parents=True)
    monkeypatch.setenv("HOLDFAST_RESUME", resume)
    monkeypatch.setenv("HOLDFAST_BASE", base)
    monkeypatch.setattr(runtime, "largest_of_ranks", lambda number, _: number)
    attempt = runtime.AttemptProcess(tmp_path / "attempt")
    stop = stop_of(attempt, monkeypatch)
    patches = types.SimpleNamespace(_attempt=attempt, _stop=stop)
    watch = runtime.TrainerWatch(SimpleNamespace(), attempt, stop, [], [])
    trainer = SimpleNamespace(args=SimpleNamespace(output_dir=str(tmp_path / "out")))
    taken = list[object]()

    def train(_trainer: object, checkpoint: object) -> None:
        taken.append(checkpoint)
        attempt.step = 0
        watch._compare_with_checkpoint(SimpleNamespace(process_index=0, device="cpu"))

    for each in (given, None):  # the script trains twice
        runtime.TrainerPatches._train(patches, train, trainer, each)  # type: ignore[arg-type]

    takes = [base and given != "/out/checkpoint-7", base and given == "/out/checkpoint-7"]
    assert taken == [resume if takes[0] else given, resume if takes[1] else None]
    verdicts = [each["verdict"] for each in read_events(tmp_path / "attempt")]
    assert verdicts == [
        "unknown" if takes[0] else "ignored",
        *([] if takes[0] else ["unknown" if takes[1] else "ignored"]),
    ]


def test_a_checkpoint_that_the_script_passes_on_itself_is_not_for_another_trainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything said of it then."""
    monkeypatch.setenv("HOLDFAST_RESUME", str(tmp_path / "checkpoint-4"))
    attempt = runtime.AttemptProcess(tmp_path / "attempt")
    patches = types.SimpleNamespace(_attempt=attempt, _stop=stop_of(attempt, monkeypatch))
    trainer = SimpleNamespace(args=SimpleNamespace(output_dir=str(tmp_path)))
    taken = list[object]()
    for given in (tmp_path / "checkpoint-4", None):
        runtime.TrainerPatches._train(patches, lambda _, checkpoint: taken.append(checkpoint), trainer, given)  # type: ignore[arg-type]

    assert taken == [tmp_path / "checkpoint-4", None]


@dataclass
class Abandoned:
    """An attempt that trains, and whose time limit is over.

    Attributes:
        sent: Signals that it sent to itself.
        left: Exit codes with which it left at once.
        now_s: Its clock.
    """

    attempt: runtime.AttemptProcess
    stop: runtime.StopRequest
    sent: list[int]
    left: list[int]
    now_s: list[float]

    def look(self, after_s: float = 0.0) -> None:
        """Have it look whether somebody looks after it."""
        self.now_s[0] += after_s
        self.attempt._leave_if_abandoned()

    def leave(self) -> str:
        """Have its training end it, and return the reason that it reports."""
        with pytest.raises(SystemExit):
            self.stop.leave()
        return self.attempt.ending.reason


@pytest.fixture
def abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Abandoned:
    monkeypatch.setenv("HOLDFAST_TIMEOUT", "5")
    now_s, sent, left = [100.0], list[int](), list[int]()
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    monkeypatch.setattr("os.kill", lambda _, number: sent.append(number))
    monkeypatch.setattr("os._exit", left.append)
    monkeypatch.setattr(runtime, "largest_of_ranks", lambda number, _: number)
    attempt = runtime.AttemptProcess(tmp_path)
    found = Abandoned(attempt, stop_of(attempt, monkeypatch), sent, left, now_s)
    found.stop.training = True
    now_s[0] += 5 + runtime.LEASE_S + 1
    return found


def test_a_stop_under_way_is_no_end_of_time(abandoned: Abandoned) -> None:
    """It saves, and says who stopped it; a second wish is heard, too."""
    abandoned.stop._hear(signal.SIGTERM, None)
    abandoned.look()

    assert (abandoned.sent, abandoned.leave()) == ([], "signal")
    abandoned.now_s[0] += runtime.ECHO_S + 1
    abandoned.stop._hear(signal.SIGTERM, None)
    assert abandoned.left == [runtime.STOPPED]
    assert abandoned.attempt.ending.because == "SIGTERM, the second"


def test_the_end_of_time_is_reported_by_all_ranks(
    abandoned: Abandoned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them looks first, and the others learn of it from that one."""
    abandoned.look()
    abandoned.look()
    assert abandoned.sent == [signal.SIGTERM]
    abandoned.stop._hear(signal.SIGTERM, None)
    other = runtime.AttemptProcess(tmp_path / "other")
    stop = stop_of(other, monkeypatch)
    monkeypatch.setattr(runtime, "largest_of_ranks", lambda *_: vars(abandoned.stop)["_number"])

    assert stop.agreed("cpu")
    with pytest.raises(SystemExit):
        stop.leave()
    assert (abandoned.leave(), other.ending.reason) == ("timeout", "timeout")


@pytest.mark.parametrize("hears", [True, False])
def test_what_takes_too_long_to_stop_is_ended_unless_its_training_is_over(abandoned: Abandoned, *, hears: bool) -> None:
    """The script may be saving, merging or pushing its model then."""
    abandoned.look()
    if hears:
        abandoned.stop._hear(signal.SIGTERM, None)
    abandoned.stop.trained = True
    abandoned.look(after_s=3 * runtime.ABANDONED_S)
    assert abandoned.left == []
    abandoned.stop.trained = False  # the next training of the script begins
    abandoned.look(after_s=1)
    assert abandoned.left == []
    abandoned.look(after_s=runtime.ABANDONED_S)
    assert (abandoned.left, abandoned.attempt.ending.reason) == ([runtime.STOPPED], "timeout")


def test_two_wait_for_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a module hears of it, once, also beside another who does."""
    (tmp_path / "waited_for.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    heard: list[int] = []
    for _ in range(2):
        runtime.when_imported("waited_for", lambda module: heard.append(module.value))
    runtime.when_imported("never_made", heard.append)
    runtime.when_imported("never_made", heard.append)
    importlib.import_module("waited_for")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("never_made")
    assert heard == [1, 1]


@pytest.mark.parametrize("full", [("file",), ("log",), ("file", "log")], ids=" and ".join)
def test_an_event_is_lost_only_if_neither_file_nor_log_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], full: tuple[str, ...]
) -> None:
    """A full disk stops no training. What is missing in the log has its number all the same, so that the loss shows."""
    monkeypatch.setenv("HOLDFAST_EVENTS", "log")
    attempt = runtime.AttemptProcess(tmp_path)
    written = {"file": tmp_path / "file", "log": tmp_path / "log"}
    places = {name: os.open(path, os.O_WRONLY | os.O_CREAT) for name, path in written.items()}
    nowhere = os.open("/dev/full", os.O_WRONLY)
    for event, broken in (("one", full), ("two", ())):
        for name, owner in (("file", attempt), ("log", vars(attempt)["_log"])):
            monkeypatch.setattr(owner, "_file", nowhere if name in broken else places[name])
        attempt.write(event)

    for name, path in written.items():
        assert [event for event in ("one", "two") if event in path.read_text()] == ["one", "two"][name in full :]
    assert ":2:1/1:" in written["log"].read_text()
    assert ("an event is lost" in capsys.readouterr().err) == (len(full) == len(written))


def test_an_upload_that_failed_in_the_background_is_told_once(tmp_path: Path) -> None:
    """One that succeeded, goes on or was given up is not."""
    failed, done, given_up = Future[None](), Future[None](), Future[None]()
    failed.set_exception(OSError("403 Forbidden"))
    done.set_result(None)
    given_up.cancel()
    pushes = SimpleNamespace(jobs=[failed, done, given_up, Future[None]()])
    attempt = runtime.AttemptProcess(tmp_path)
    trainer: Any = SimpleNamespace(push_in_progress=pushes)
    nobody: Any = None
    watch = runtime.TrainerWatch(trainer, attempt, nobody, [], [])
    for _ in range(2):
        watch._report_failed_pushes()

    assert [event["because"] for event in read_events(tmp_path)] == ["OSError: 403 Forbidden"]


def test_what_runs_seldom_is_no_long_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that generates for minutes, an evaluation after the training: neither is judged by the rhythm of the training."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    attempt = runtime.AttemptProcess(tmp_path)
    patches = types.SimpleNamespace(_attempt=attempt)
    seen = list[str]()

    def callbacks() -> None:
        now[0] += 600.0
        seen.append(attempt.activity)

    attempt.trains, attempt.first, attempt.phase = True, False, "train"
    runtime.TrainerPatches._call_event(patches, callbacks)  # type: ignore[arg-type]
    now[0] += 2.0

    assert (seen, attempt.activity, attempt.pulse.idle_s) == (["callback"], "step", 2.0)
    assert attempt.pulse.take_longest_s() == 2.0
    attempt.trains, attempt.phase = False, "evaluate"
    assert attempt.activity == "finish"


def test_weights_in_4_bits_are_counted_as_peft_counts_them() -> None:
    """Bitsandbytes packs two into each byte, whatever dtype holds the bytes."""

    @dataclass
    class Params4bit:
        width: int

        def numel(self) -> int:
            return 12

        def element_size(self) -> int:
            return self.width

    plain = SimpleNamespace(numel=lambda: 12, element_size=lambda: 4)
    assert [runtime.count_weights(each) for each in (Params4bit(1), Params4bit(4), plain)] == [24, 96, 12]
