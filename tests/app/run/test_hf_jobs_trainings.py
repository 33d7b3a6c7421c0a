"""Real training on Hugging Face Jobs, which the loopback Hub has: the same weights as on this machine, also if a machine is lost."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.app.resume.verb import resume
from holdfast.app.run.verb import run
from holdfast.core.run.backends import HF_JOBS
from tests.helpers.hub import LoopbackHub, loopback_hub

pytestmark = pytest.mark.train

JOB = """\
method: sft
model: builtin:tiny-chat
dataset: rows.jsonl
samples: {prompts: 0}
train: {max_steps: 8, save_steps: 2, save_total_limit: 4, logging_steps: 1, per_device_train_batch_size: 2, max_length: 64, eval_strategy: "no"}
"""
LORA = JOB.replace("builtin:tiny-chat", "acme/tiny") + "peft: {r: 4}\n"
GRPO = """\
method: grpo
model: builtin:tiny-chat
dataset: prompts.jsonl
rewards: ["rewards.py:short"]
samples: {prompts: 0}
train: {max_steps: 8, save_steps: 2, save_total_limit: 4, logging_steps: 1, per_device_train_batch_size: 4, num_generations: 2, max_completion_length: 8, eval_strategy: "no"}
"""
REWARDS = """\
from lengths import length

def short(completions, **kwargs):
    return [-float(length(each)) for each in completions]
"""
LENGTHS = "def length(completion):\n    return len(str(completion))\n"
ARGUMENTS = [
    *("--model_name_or_path", "acme/tiny", "--dataset_name", "json", "--dataset_train_split", "train"),
    *("--output_dir", "out", "--max_steps", "8", "--save_steps", "2", "--per_device_train_batch_size", "2"),
    *("--max_length", "64", "--logging_steps", "1", "--report_to", "none", "--use_cpu", "True"),
]
ROWS = "".join(
    json.dumps({"messages": [{"role": role, "content": f"{k} plus {k} is"} for role in ("user", "assistant")]}) + "\n"
    for k in range(40)
)
PROMPTS = "".join(json.dumps({"prompt": [{"role": "user", "content": f"{k} plus {k} is"}]}) + "\n" for k in range(40))
FILES = {
    "sft.yaml": JOB,
    "lora.yaml": LORA,
    "grpo.yaml": GRPO,
    "rows.jsonl": ROWS,
    "prompts.jsonl": PROMPTS,
    "rewards.py": REWARDS,
    "lengths.py": LENGTHS,
}
THERE = ["where.backend=hf-jobs", "where.hardware=cpu-basic", "where.timeout=1h", "environment.secrets=[HF_TOKEN]"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub with a tiny model, and a folder with jobs."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfJobsBackend, "capabilities", replace(HF_JOBS, poll_s=0.2))
    monkeypatch.setattr("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.5)
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
        hub.jobs.network |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        yield hub


def weights(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*.safetensors"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def publish_tiny(hub: LoopbackHub) -> None:
    """Put a model on the Hub: what a short run makes."""
    made = run("sft.yaml", set=["train.max_steps=1"], rehearse=False, offline=True)
    assert made.stage == "succeeded", made.because
    folder = Path(str(made.output))
    hub.add_model("acme/tiny", {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()})
    hub.add_dataset("acme/rows", {"data/train.jsonl": ROWS})


def model_of(result: Any, name: str) -> Path:
    """Return the folder of the model that a run made."""
    if name != "script":
        return Path(str(result.output))
    kept = sorted(Path("runs").glob("*/outputs/out"))
    return kept[-1] if kept else Path("out")


@pytest.mark.long
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("name", ["sft", "lora", "grpo", "script"])
def test_a_job_trains_there_as_here(hub: LoopbackHub, name: str, lost: bool) -> None:
    """The same weights; a lost machine costs what was not saved."""
    if name in ("lora", "script"):
        publish_tiny(hub)
    target, arguments = f"{name}.yaml", list[str]()
    if name == "script":
        (spec,) = find_spec("trl").submodule_search_locations  # type: ignore[union-attr, misc]
        shutil.copy(Path(spec, "scripts", "sft.py"), "train.py")
        target, arguments = "train.py", [each.replace("json", "acme/rows") for each in ARGUMENTS]
    here = run(target, arguments=arguments, rehearse=False)
    assert here.stage == "succeeded", here.because
    expected = weights(model_of(here, name))
    shutil.rmtree("out", ignore_errors=True)
    if lost:
        hub.jobs.mishap("machine_gone", at_file="*checkpoint-6/holdfast-manifest.json")
    if name == "script":
        target = hub.add_page("/trl/sft.py", Path(target).read_text(), media_type="text/plain")
    there = run(target, set=THERE, arguments=arguments, rehearse=False)
    if lost:
        if name == "script":  # of a job file, the run goes on by itself
            assert (there.stage, there.because) == ("failed", "Job failed: the node was lost")
            there = resume(there.run)
        begun = there.attempts[-1].resume_from
        assert str(begun).rpartition("-")[2] in ("2", "4", "6")

    assert there.stage == "succeeded", there.because
    assert expected
    assert weights(model_of(there, name)) == expected


def test_a_small_job_trains_there(hub: LoopbackHub) -> None:
    """With rows that lie beside the job file."""
    there = run("sft.yaml", set=[*THERE, "train.max_steps=2"], rehearse=False)

    assert there.stage == "succeeded", there.because
    assert 0 < there.cost_usd < 1
    assert weights(Path(str(there.output)))
    assert "files/rows.jsonl" in "".join(hub.buckets["me/holdfast"].files)
    assert re.search(
        r"memory of the machine.*at most [\d.]+ MB of 16 GB", Path(there.folder, "report.html").read_text(), re.DOTALL
    )
