"""What the settings of `--for` save and cost: each pair of trainings differs in one setting alone.

    .venv/bin/python -m benchmarks.scenarios [PAIR …] [--repeat 3] [--steps 60]

Each training is the script of a job file (`holdfast render`), run by itself: `builtin:tiny-chat` on `builtin:stdlib-docstrings`. The times are
processor seconds of its process, imports included, so that other work on the machine counts little. `best` looks at one training instead: at
what its checkpoints hold. `memory` trains nothing: it is the closed form of `holdfast plan`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import holdfast
from benchmarks.machine import heading

JOB: Final[Mapping[str, Any]] = {
    "method": "sft",
    "model": "builtin:tiny-chat",
    "dataset": {"path": "builtin:stdlib-docstrings", "rows": 960, "eval_fraction": 0.1},
    "train": {
        "max_steps": 60,
        "learning_rate": 3e-3,
        "per_device_train_batch_size": 16,
        "max_length": 256,
        "eval_strategy": "no",
        "save_strategy": "no",
    },
    "samples": {"prompts": 0},
}
EVALUATED: Final[Mapping[str, Any]] = {"train.eval_strategy": "steps", "train.eval_steps": 0.1}
PAIRS: Final[Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]] = {
    "lengths": ({}, {"train.train_sampling_strategy": "group_by_length"}),
    "activations": ({"train.activation_checkpointing": True}, {"train.activation_checkpointing": False}),
    "evaluations": (EVALUATED, {**EVALUATED, "train.eval_steps": 0.5}),
    "samples": ({**EVALUATED, "samples.prompts": 2}, EVALUATED),
    "workers": ({}, {"train.dataloader_num_workers": 2}),
    "compile": ({}, {"train.torch_compile": True}),
    "saves": ({}, {"train.save_strategy": "steps", "train.save_steps": 0.1}),
    "first-evaluation": (EVALUATED, {**EVALUATED, "train.eval_on_start": True}),
}
BEST: Final[Mapping[str, Any]] = {
    "dataset.rows": 160,
    "dataset.eval_fraction": 0.25,
    "train.max_steps": 200,
    "train.eval_strategy": "steps",
    "train.eval_steps": 0.1,
    "train.save_strategy": "steps",
    "train.save_steps": 0.1,
    "train.load_best_model_at_end": True,
    "train.metric_for_best_model": "eval_loss",
}
"""A job with so few rows that it learns them by heart."""
LORA: Final = {"r": 16, "lora_alpha": 32, "target_modules": "all-linear"}
MODELS: Final = ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-8B")


def train(settings: Mapping[str, Any], folder: Path) -> float:
    """Train the job with some settings in a new folder; return the processor seconds that it took."""
    folder.mkdir(parents=True)
    (folder / "job.yaml").write_text(json.dumps(JOB))
    (folder / "train.py").write_text(holdfast.render(folder / "job.yaml", set=settings))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HOLDFAST_RUN": str(folder / "run")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "train.py"], cwd=folder, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit((folder / "log").read_text(errors="replace")[-2000:])
    return usage.ru_utime + usage.ru_stime


def compare(name: str, folder: Path, repeat: int, steps: int) -> None:
    """Print what a pair of settings takes, alternating."""
    pair = [{"train.max_steps": steps, **settings} for settings in PAIRS[name]]
    times = [
        [train(settings, folder / f"{name}-{which}-{time}") for which, settings in enumerate(pair)]
        for time in range(repeat)
    ]
    before, after = (statistics.median(each[which] for each in times) for which in (0, 1))
    print(f"{name:17} {before:6.1f} s -> {after:6.1f} s ({after / before - 1:+.0%})  {_changed(*pair)}", flush=True)
    print(f"{'':17} each: {[[round(each, 1) for each in both] for both in times]}", flush=True)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    keys = sorted({*before, *after})
    return ", ".join(
        f"{key}: {before.get(key)} -> {after.get(key)}" for key in keys if before.get(key) != after.get(key)
    )


def best(folder: Path) -> None:
    """Print where the best checkpoint of an overfitted model is, which ones are left, and when early stopping ends it."""
    for name, more in {
        "keep 2": {"train.save_total_limit": 2},
        "keep 3": {"train.save_total_limit": 3},
        "early stop": {"early_stopping.patience": 3},
    }.items():
        train({**BEST, **more}, folder / name)
        losses = dict(_losses(folder / name))
        left = sorted(int(each.name.rpartition("-")[2]) for each in (folder / name).rglob("checkpoint-*"))
        lowest = min(losses, key=lambda step: losses[step])
        print(
            f"best, {name:10}: step {lowest} has {losses[lowest]:.3f}, the last ({max(losses)} of 200) {losses[max(losses)]:.3f}; left: {left}",
            flush=True,
        )


def _losses(folder: Path) -> Iterator[tuple[int, float]]:
    newest = max(folder.rglob("trainer_state.json"), key=lambda each: int(each.parent.name.rpartition("-")[2]))
    for each in json.loads(newest.read_text())["log_history"]:
        if "eval_loss" in each:
            yield each["step"], each["eval_loss"]


def memory(folder: Path) -> None:
    """Print the memory of full training and of LoRA, by the closed form."""
    for model in MODELS:
        (folder / "memory.yaml").write_text(
            json.dumps({"method": "sft", "model": model, "dataset": "trl-lib/Capybara"})
        )
        for name, settings in {"full": {}, "LoRA": {"peft": LORA}}.items():
            found = holdfast.plan(folder / "memory.yaml", set=settings, hardware="h200", offline=True)
            print(
                f"memory, {model}, {name}: {found['memory']['peak_bytes'] / 2**30:.1f} GiB",
                flush=True,
            )


def main() -> None:
    """Measure what is named, or everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PAIR", help=f"of {', '.join(PAIRS)}, best, memory")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    given = parser.parse_args()
    names = given.names or [*PAIRS, "best", "memory"]
    print(heading("scenarios"))
    with TemporaryDirectory(prefix="holdfast-scenarios-") as folder:
        for name in names:
            match name:
                case "best":
                    best(Path(folder))
                case "memory":
                    memory(Path(folder))
                case _:
                    compare(name, Path(folder), given.repeat, given.steps)


if __name__ == "__main__":
    main()
