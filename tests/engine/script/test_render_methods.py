"""Rendered scripts on real TRL: every method from its rows to a whole model, as a user would run them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from holdfast.core.job_file.job import Job
from holdfast.engine.script.render import referred_files, render_script
from tests.helpers.forked import Done as Ended
from tests.helpers.forked import fork
from tests.helpers.hub import loopback_hub
from tests.helpers.sampling import sampled
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

EXAMPLES = Path(__file__).parents[3] / "examples"
QUITS = """
import os, signal

def score(completions, **_):
    os.kill(os.getpid(), signal.SIGTERM)
    return [0.0] * len(completions)
"""
REWARDS = "def short(completions, **_):\n    return [-float(len(each[0]['content'])) for each in completions]\n"
DRAWS = """
import random, numpy, torch

def length(predictions, prompt=None):
    torch.rand(1), numpy.random.rand(), random.random()
    return [1.5 + len(each) for each in predictions]
"""
MEASURED = {"prompts": 0, "metric": ["exact_match", "f1", "chrf", "draws.py:length"], "rows": 3, "max_new_tokens": 4}
STEPS = {"max_steps": 4, "save_steps": 2, "per_device_train_batch_size": 2, "logging_steps": 1, "learning_rate": 1e-3}
EVALUATED = {"eval_steps": 2, "per_device_eval_batch_size": 2}


def user(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{number} plus {number} equals?"}]


def assistant(text: object) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": f"{text}."}]


ROWS: dict[str, Callable[[int], dict[str, Any]]] = {
    "messages": lambda n: {"messages": user(n) + assistant(2 * n)},
    "pairs": lambda n: {"prompt": user(n), "chosen": assistant(2 * n), "rejected": assistant("user")},
    "marked": lambda n: {"prompt": user(n), "completion": assistant(2 * n), "label": n % 2 == 0},
    "prompts": lambda n: {"prompt": user(n), "answer": str(2 * n)},
    "raw": lambda n: {"question": f"{n}?", "answer": str(2 * n)},
}

METHODS: dict[str, dict[str, Any]] = {
    "sft": {
        "dataset": {"path": "messages.jsonl", "rows": 20, "eval_fraction": 0.2},
        "peft": {"r": 2, "lora_dropout": 0.5},  # so that every random number counts
        "train": STEPS | EVALUATED | {"eval_steps": 1},
    },
    "dpo": {"dataset": {"path": "pairs.jsonl", "eval_fraction": 0.2}, "train": STEPS | EVALUATED},
    "reward": {"dataset": {"path": "pairs.jsonl", "eval_fraction": 0.2}, "train": STEPS | EVALUATED},
    "kto": {"dataset": {"path": "marked.jsonl", "eval_fraction": 0.2}, "train": STEPS | EVALUATED},
    "grpo": {
        "dataset": "prompts.jsonl",
        "rewards": ["rewards.py:short"],
        "train": STEPS | {"num_generations": 2, "max_completion_length": 8},
    },
    "rloo": {
        "dataset": "prompts.jsonl",
        "rewards": ["think_format_reward"],
        "train": STEPS | {"num_generations": 2, "max_completion_length": 8},
    },
}


@dataclass(frozen=True)
class Done:
    """What a script left behind."""

    code: int
    said: str
    folder: Path

    @property
    def checkpoints(self) -> Path:
        return next((self.folder / "checkpoints").iterdir())

    def read(self, path: str) -> Any:
        return json.loads((self.folder / path).read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small data file of each kind."""
    folder = tmp_path_factory.mktemp("place")
    for name, row in ROWS.items():
        lines = (json.dumps(row(number)) + "\n" for number in range(24))
        (folder / f"{name}.jsonl").write_text("".join(lines))
    (folder / "shapes.py").write_text(SHAPE)
    (folder / "scripts").mkdir()
    return folder


@pytest.fixture(scope="module")
def train(place: Path, tiny: Path) -> Callable[..., Done]:
    """Run a job's script in that folder, at most once for each run's name.

    With variables of its own, which libraries may read when they are imported, it runs in an interpreter of its own.
    """
    done: dict[str, Done] = {}

    def run(run: str, asked: Mapping[str, Any], **variables: str) -> Done:
        if run not in done:
            script = f"scripts/{run}.py"
            (place / script).write_text(script_of({"model": str(tiny), **asked}, run))
            folder = place / "runs" / run
            environment = quiet_environment(HOLDFAST_RUN=str(folder), TRACKIO_DIR=str(place / "trackio"), **variables)
            ended = start_anew(script, place, environment) if variables else fork([script], place, environment)
            done[run] = Done(ended.exit_code, ended.stdout + ended.stderr, folder)
        return done[run]

    return run


def start_anew(script: str, folder: Path, environment: Mapping[str, str]) -> Ended:
    """Run a script as a user does."""
    command = [sys.executable, script]
    ended = subprocess.run(command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def script_of(asked: Mapping[str, Any], name: str) -> str:
    job = Job.model_validate(asked)
    texts = {"rewards.py": REWARDS, "quits.py": QUITS, "draws.py": DRAWS, "shape.py": SHAPE, "chat.jinja": TEMPLATE}
    return render_script(job, name=name, sources={file: texts[file] for file in referred_files(job)})


@pytest.mark.parametrize("method", sampled(METHODS, 2))
def test_every_method_ends_in_a_whole_model(train: Callable[..., Done], method: str) -> None:
    """From rows to a model folder with its tokenizer, and a record beside it and beside every checkpoint."""
    done = train(method, {"method": method, **METHODS[method]})
    assert done.code == 0, done.said
    weights = "adapter_model.safetensors" if method == "sft" else "model.safetensors"
    for folder in (done.folder / "model", done.checkpoints / "checkpoint-2", done.checkpoints / "checkpoint-4"):
        assert {weights, "tokenizer.json", "holdfast-job.json", "holdfast-versions.json"} <= {
            path.name for path in folder.iterdir()
        }
    assert not (done.folder / "model.partial").exists()
    assert done.checkpoints.name.startswith("tiny-2")
    assert done.read("model/holdfast-versions.json")["packages"]["trl"] == "1.16.0"


def test_the_record_says_what_was_drawn(train: Callable[..., Done]) -> None:
    """How rows were chosen, with which seed, and how many, can be read beside the model."""
    done = train("sft", {"method": "sft", **METHODS["sft"]})
    record = done.read("model/holdfast-job.json")
    drawn = {"strategy": "drawn at random, none twice", "seed": 42, "of": 24, "held_out": 4, "rows": 16}
    assert drawn.items() <= record["data"].items()
    assert len(record["data"]["sha256"]) == 64
    assert record["settings"]["TRAIN"] == METHODS["sft"]["train"]
    assert record["config"]["use_cpu"]
    assert record["config"]["output_dir"].startswith(
        "tiny-2"
    )  # no folder of this machine: the record goes with the model
    assert str(done.folder.parent) not in json.dumps(record)
    assert "'held_out': 4" in done.said


def test_each_evaluation_is_kept(train: Callable[..., Done]) -> None:
    """Evaluations stand in a table for programs and one for spreadsheets, completions in a file for people."""
    done = train("sft", {"method": "sft", **METHODS["sft"]})
    rows = done.read("results/evaluation.json")
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    table = (done.folder / "results" / "evaluation.csv").read_text().splitlines()
    assert table[0].startswith("step,")
    assert [line.split(",")[0] for line in table[1:]] == ["1", "2", "3", "4"]
    samples = [json.loads(line) for line in (done.folder / "results" / "samples.jsonl").read_text().splitlines()]
    assert [sample["step"] for sample in samples] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert samples[0]["prompt"][-1]["content"].endswith("equals?")
    assert "equals? -> " in done.said


@pytest.mark.long  # as in `tests/app/run/test_run.py`, from a script
def test_a_resumed_run_that_measures_answers_ends_with_the_same_weights(train: Callable[..., Done]) -> None:
    """Going on from a checkpoint, with metrics instead of completions to look at, gives the model of the unbroken run, to the bit."""
    whole = train("sft", {"method": "sft", **METHODS["sft"]})
    checkpoint = str(whole.checkpoints / "checkpoint-2")
    asked = {"method": "sft", **METHODS["sft"], "samples": MEASURED}
    resumed = train("resumed", asked, HOLDFAST_RESUME=checkpoint, HOLDFAST_STARTED="20260101-000000")
    assert resumed.code == 0, resumed.said
    assert resumed.checkpoints.name == "tiny-20260101-000000"
    weights = [(done.folder / "model" / "adapter_model.safetensors").read_bytes() for done in (whole, resumed)]
    assert weights[0] == weights[1]
    evaluations = resumed.read("results/evaluation.json")
    assert [row["step"] for row in evaluations] == [1, 2, 3, 4]
    assert ["eval_f1" in row for row in evaluations] == [False, False, True, True]
    assert evaluations[-1]["eval_length"] > 1


def test_training_that_no_longer_improves_ends_with_a_model(train: Callable[..., Done]) -> None:
    """Early stopping is an end like any other: the best model is saved. Rows may be rewritten by a module at hand."""
    asked = {
        "method": "sft",
        "dataset": {"path": "raw.jsonl", "eval_fraction": 0.2, "map": "shapes:chat"},
        "early_stopping": {"patience": 1, "threshold": 1000.0},
        "train": STEPS | {"eval_steps": 1, "save_steps": 1, "max_steps": 9},
    }
    done = train("stopping", asked)
    assert done.code == 0, done.said
    assert (done.folder / "model" / "model.safetensors").exists()
    assert [row["step"] for row in done.read("results/evaluation.json")] == [1, 2]


@pytest.mark.long
@pytest.mark.parametrize("method", ["sft", "dpo", "kto"])
def test_the_best_checkpoint_has_the_best_answers(train: Callable[..., Done], method: str) -> None:
    """A metric of answers stops the training, and selects the checkpoint: here the first, since none is better."""
    asked = {
        "dataset": METHODS[method]["dataset"],
        "samples": MEASURED,
        "early_stopping": {"patience": 2, "metric": "eval_exact_match"},
        "train": STEPS | {"eval_steps": 1, "save_steps": 1, "max_steps": 9},
    }
    done = train(f"best-{method}", {"method": method, **asked})
    assert done.code == 0, done.said
    assert [row["eval_exact_match"] for row in done.read("results/evaluation.json")] == [0, 0, 0]
    state = json.loads((done.checkpoints / "checkpoint-3" / "trainer_state.json").read_text())
    assert state["best_global_step"] == 1


SHAPE = """
def chat(row):
    roles = {"user": row["question"], "assistant": row["answer"]}
    return {"messages": [{"role": role, "content": content} for role, content in roles.items()]}
"""
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}<|im_end|>\n{% endfor %}[assistant] "


def test_a_stream_of_rows_in_a_shape_of_their_own_is_trained_on(
    train: Callable[..., Done], place: Path, tiny: Path
) -> None:
    """Streaming, a function that rewrites rows, a chat template and a tracker's group work together."""
    asked = {
        "method": "sft",
        "dataset": {"path": "raw.jsonl", "streaming": True, "rows": 16, "map": "shape.py:chat"},
        "track": {"with": "trackio", "project": "p", "group": "g"},
        "train": STEPS,
    }
    done = train("stream", asked | {"model": {"path": str(tiny), "chat_template": "chat.jinja"}})
    assert done.code == 0, done.said
    assert (done.folder / "model" / "chat_template.jinja").read_text() == TEMPLATE
    found = "import trackio; run = trackio.Api().runs('p')[0]; print(run.name, run.config['_Group'])"
    environment = quiet_environment(TRACKIO_DIR=str(place / "trackio"))
    told = subprocess.run([sys.executable, "-c", found], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["stream", "g"]


DIGEST = """
import hashlib, os, pathlib, sys, time, types
script = types.ModuleType("__main__")
exec(compile(pathlib.Path(sys.argv.pop(1)).read_text(), "pair.py", "exec"), script.__dict__)
later = types.SimpleNamespace(strftime=lambda _: f"2026010{os.environ['RANK']}-000000", time_ns=time.time_ns)
script.time, save = later, script.save_model

def save_model(trainer, record, folder):
    digest = hashlib.sha256()
    for parameter in trainer.model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    save(trainer, record, folder)
    told = f"{digest.hexdigest()} {folder} {trainer.args.world_size}"
    pathlib.Path(f"rank-{os.environ['RANK']}").write_text(told)

script.save_model = save_model
script.main()
"""


@pytest.mark.long
def test_two_processes_train_one_model_in_one_folder(place: Path, tiny: Path) -> None:
    """Under torchrun the processes agree on the folder, end with the same weights, and share the answers that are measured."""
    asked = {"method": "sft", "model": str(tiny), **METHODS["sft"], "samples": MEASURED}
    (place / "pair.py").write_text(script_of(asked, "pair").replace('__name__ == "__main__"', "False"))
    (place / "digest.py").write_text(DIGEST)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, "digest.py", "pair.py"]
    subprocess.run(command, cwd=place, env=quiet_environment(), check=True, capture_output=True, timeout=120)
    told = [(place / f"rank-{rank}").read_text() for rank in range(2)]
    assert told[0] == told[1]
    assert told[0].endswith(" 2")
    (evaluations,) = (json.loads(file.read_text()) for file in place.glob("runs/pair-*/results/evaluation.json"))
    assert evaluations[-1]["eval_length"] > 1
    assert sorted(folder.name for folder in place.glob("runs/pair-*/*")) == ["checkpoints", "model", "results"]


@pytest.mark.long
def test_training_that_stops_before_its_end_leaves_no_model(train: Callable[..., Done]) -> None:
    """A trainer that saves when it is told to stop returns as if it had ended; that is not taken for an end."""
    settings = {"num_generations": 2, "max_completion_length": 2, "max_steps": 2000, "enable_jit_checkpoint": True}
    asked = {"method": "grpo", "dataset": "prompts.jsonl", "rewards": ["quits.py:score"], "train": STEPS | settings}
    done = train("quits", asked)
    assert done.code == 1
    assert "of 2000; no model was written" in done.said
    assert any(done.checkpoints.iterdir())
    assert not (done.folder / "model").exists()


PUSHED = {"method": "kto", **METHODS["kto"], "output": {"push_to": "me/model"}}


@pytest.mark.long
def test_the_model_is_pushed_once_and_whole(train: Callable[..., Done]) -> None:
    """What is on the Hub at the end is what is in the model's folder, in a private repository."""
    with loopback_hub() as hub:
        done = train("pushed", PUSHED, **hub.variables)
    assert done.code == 0, done.said
    assert hub.model("me/model").private
    assert len(hub.commits) == 1
    assert (
        hub.model("me/model").files["model.safetensors"] == (done.folder / "model" / "model.safetensors").read_bytes()
    )


@pytest.mark.long
def test_a_push_that_did_not_arrive_fails(train: Callable[..., Done]) -> None:
    """A Hub that answers that all is well and has no weights is found out; the model is safe in its folder."""
    with loopback_hub() as hub:
        hub.lose(".safetensors")
        done = train("lost", PUSHED, **hub.variables)
    assert done.code == 1
    assert "me/model does not have what is in" in done.said
    assert (done.folder / "model" / "model.safetensors").exists()


APT = """#!/bin/sh
echo "Reading lists of $*"
echo "E: no package was found" >&2
exit 100
"""


def test_system_packages_that_cannot_be_installed_are_told_in_full(train: Callable[..., Done], place: Path) -> None:
    """Whatever apt-get said on either stream is shown, before anything heavy is imported."""
    (place / "bin").mkdir()
    (place / "bin" / "apt-get").write_text(APT)
    (place / "bin" / "apt-get").chmod(0o755)
    asked = {"method": "sft", "dataset": "messages.jsonl", "environment": {"system": ["no-such-package; id"]}}
    done = train("system", asked, PATH=f"{place / 'bin'}:{os.environ['PATH']}")
    assert done.code == 1
    assert "Reading lists of update" in done.said
    assert "E: no package was found" in done.said
    assert "Traceback" not in done.said


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"dataset": "no/such.jsonl"}, "no such data: "),
    "empty": ({"dataset": "empty.jsonl"}, "empty.jsonl is empty"),
    "rowless": ({"dataset": "rowless.csv"}, "corresponds to no data!"),
    "dry": ({"dataset": {"path": "rowless.csv", "streaming": True}}, "rowless.csv has no rows in its split 'train'"),
    "fraction": (
        {"dataset": {"path": "messages.jsonl", "eval_fraction": 0.001}},
        "of 24 rows, an EVAL_FRACTION of 0.001",
    ),
    "hollow": ({"model": "./hollow"}, "no config.json in "),
    "nowhere": ({"model": "./nowhere"}, "no such model folder: "),
    "secret": ({"environment": {"secrets": ["NO_SUCH_SECRET"]}}, "not set: NO_SUCH_SECRET"),
}
ONE_AFTER_ANOTHER = """
import contextlib, io, json, runpy, sys, traceback
told = {}
for name in sys.argv[1:]:
    sys.argv, said = [name], io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            runpy.run_path(name, run_name="__main__")
        except Exception:
            traceback.print_exc(file=said)
    told[name] = said.getvalue()
sys.stdout = sys.__stdout__
print(json.dumps(told))
"""


@pytest.mark.long
def test_what_is_wrong_with_the_inputs_is_said_before_the_traceback(place: Path, tiny: Path) -> None:
    """Missing or empty data, a folder without a model, a secret that is not set: what, where, and no model folder."""
    (place / "hollow").mkdir()
    (place / "empty.jsonl").touch()
    (place / "rowless.csv").write_text("prompt,completion\n")
    for name, (asked, _) in WRONG.items():
        job = {"method": "sft", "model": str(tiny), "dataset": "messages.jsonl", **asked}
        (place / f"{name}.py").write_text(script_of(job, name))
    command = [sys.executable, "-c", ONE_AFTER_ANOTHER, *(f"{name}.py" for name in WRONG)]
    ended = subprocess.run(command, cwd=place, env=quiet_environment(), capture_output=True, text=True, check=True)
    told = json.loads(ended.stdout.splitlines()[-1])
    for name, (_, what) in WRONG.items():
        said = told[f"{name}.py"]
        assert what in said
        assert said.index("what:  ") < said.index(what) < said.index("where: line ") < said.index("Traceback"), name
        assert not list(place.glob(f"runs/{name}-*/model"))


def example(name: str, **train: Any) -> str:
    """Return the script of an example, with some of its settings changed."""
    asked = YAML(typ="safe").load((EXAMPLES / f"{name}.yaml").read_text())
    job = Job.model_validate(asked | {"train": asked["train"] | train})
    sources = {file: (EXAMPLES / file).read_text() for file in referred_files(job)}
    return render_script(job, name=name, sources=sources)


@pytest.mark.long
def test_uv_runs_a_script_where_there_is_nothing_else(tmp_path: Path) -> None:
    """In an empty folder, without holdfast and without its environment, the header is all that is needed."""
    (tmp_path / "quickstart.py").write_text(example("quickstart", max_steps=2, eval_on_start=False))
    kept = {name: value for name, value in quiet_environment().items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = kept | {
        "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", ""),
        "UV_COMPILE_BYTECODE": "1",
        "HOLDFAST_CACHE": str(tmp_path / "cache"),
    }
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "run", "quickstart.py"], cwd=tmp_path, env=environment, check=True)
    folder = next((tmp_path / "runs").iterdir())
    assert (folder / "model" / "model.safetensors").exists()
    packages = json.loads((folder / "model" / "holdfast-versions.json").read_text())["packages"]
    assert "holdfast" not in packages


@pytest.mark.long
def test_the_quickstart_learns(tmp_path: Path) -> None:
    """The first job a newcomer runs brings the evaluation loss at least 40 % under its value before training."""
    (tmp_path / "quickstart.py").write_text(example("quickstart"))
    environment = quiet_environment(HOLDFAST_RUN=str(tmp_path / "run"), HOLDFAST_CACHE=str(tmp_path / "cache"))
    subprocess.run([sys.executable, "quickstart.py"], cwd=tmp_path, env=environment, check=True)
    losses = [row["eval_loss"] for row in json.loads((tmp_path / "run" / "results" / "evaluation.json").read_text())]
    assert losses[-1] < 0.6 * losses[0]
