"""Processor seconds of a step of small real jobs on one core, beside what `plan` says of them.

    python -m benchmarks.plan_processor_jobs

The jobs train the built-in model of 3 million parameters with TRL, as `holdfast render` writes their scripts, in one thread. Processor seconds
are measured, so other programs on the machine disturb little. It needs the extra `train` and a few minutes.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import holdfast
from benchmarks.machine import heading
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.plan import verb
from holdfast.core.plan.estimate import Interval
from holdfast.engine.plan.planning import plan_job
from holdfast.engine.plan.processors import plan_on_processors

WORDS: Final = [
    "the",
    "a",
    "red",
    "printer",
    "function",
    "returns",
    "value",
    "list",
    "of",
    "string",
    "and",
    "when",
    "it",
    "is",
    "not",
    "empty",
    "then",
    "call",
    "open",
]
MEASURE: Final = """
import json, os, runpy, sys, time
import torch
from transformers import Trainer, TrainerCallback
torch.set_num_threads(1)
train, seconds = Trainer.train, []

class Measure(TrainerCallback):
    def on_step_begin(self, *_, **__):
        self.begun = time.process_time()
    def on_step_end(self, *_, **__):
        seconds.append(time.process_time() - self.begun)

def measured(self, *args, **kwargs):
    self.add_callback(Measure())
    train(self, *args, **kwargs)
    print("SECONDS", json.dumps(seconds), flush=True)
    os._exit(0)

Trainer.train = measured
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
SFT: Final = {"method": "sft", "dataset": "./short.jsonl"}
JOBS: Final[dict[str, dict[str, Any]]] = {
    "sft, 1 short row": {**SFT, "train": {"per_device_train_batch_size": 1, "max_steps": 60, "max_length": 256}},
    "sft, 8 short rows": {**SFT, "train": {"per_device_train_batch_size": 8, "max_steps": 30, "max_length": 256}},
    "sft, 8 long rows": {
        "method": "sft",
        "dataset": "./long.jsonl",
        "train": {"per_device_train_batch_size": 8, "max_steps": 12, "max_length": 512},
    },
    "sft, adapter, 8 short rows": {
        **SFT,
        "peft": {"r": 8},
        "train": {"per_device_train_batch_size": 8, "max_steps": 30, "max_length": 256},
    },
    "dpo, 4 pairs": {
        "method": "dpo",
        "dataset": "./pairs.jsonl",
        "train": {"per_device_train_batch_size": 4, "max_steps": 12, "max_length": 256},
    },
    "grpo, 8 completions of 64": {
        "method": "grpo",
        "dataset": "./prompts.jsonl",
        "rewards": ["rewards.py:score"],
        "train": {"per_device_train_batch_size": 8, "num_generations": 8, "max_completion_length": 64, "max_steps": 5},
    },
}


def main() -> None:
    """Print one line per job."""
    print(heading("A step on one core"))
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        write_rows(Random(1))  # noqa: S311 - no secret
        Path("measure.py").write_text(MEASURE)
        for name, job in JOBS.items():
            Path("job.yaml").write_text(json.dumps({"model": "builtin:tiny-chat", **job}))
            told, seconds = planned_step(), measured_step()
            print(f"{name:28} measured {seconds:.3f} s, plan {told.value:.3f} s ({told.low:.3f} to {told.high:.3f})")


def write_rows(chance: Random) -> None:
    """Write the rows that the jobs train on."""

    def turn(role: str, words: int) -> dict[str, str]:
        return {"role": role, "content": " ".join(chance.choice(WORDS) for _ in range(words))}

    def chat(asked: int, answered: int) -> dict[str, Any]:
        return {"messages": [turn("user", asked), turn("assistant", answered)]}

    files = {
        "short": [chat(5, 8) for _ in range(400)],
        "long": [chat(60, 120) for _ in range(400)],
        "pairs": [
            {"prompt": [turn("user", 10)], "chosen": [turn("assistant", 20)], "rejected": [turn("assistant", 20)]}
            for _ in range(200)
        ],
        "prompts": [{"prompt": [turn("user", 5)]} for _ in range(100)],
    }
    for name, rows in files.items():
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("rewards.py").write_text(
        "def score(completions, **_):\n    return [len(str(each)) % 7 for each in completions]\n"
    )


def planned_step() -> Interval:
    """Return what a step of the job takes on one core, as `plan` has it."""
    request = TargetRequest(path="job.yaml", hub=HubAccess.OFFLINE)
    question = verb._question(verb._read(request), request, ())  # noqa: SLF001 - the door of a benchmark
    found = plan_job(question)
    workload = found.workload
    if workload is None:
        raise SystemExit(found.no_time)
    one = plan_on_processors(question.job, found.step, workload, replace(question.this, cores=1), "")
    training = next(part.seconds for part in one.parts if part.name == "training")
    return Interval(*(each / workload.steps for each in (training.value, training.low, training.high)))


def measured_step() -> float:
    """Return the processor seconds of a step of the job: the middle of all."""
    Path("job.py").write_text(holdfast.render("job.yaml"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "measure.py", "job.py"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS "))
    seconds: list[float] = json.loads(line.removeprefix("SECONDS "))
    return median(seconds)


if __name__ == "__main__":
    main()
