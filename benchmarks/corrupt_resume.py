"""Checkpoints of a training that is killed while it saves, or damaged afterwards: is the newest whole one chosen, and never a damaged one?

    .venv/bin/python -m benchmarks.corrupt_resume [KILLS] [--damages 1000] [--seed 0]

Each training is a real `Trainer` with the runtime of an attempt, forked from a process that has imported the libraries. It saves 6 MB after each
step and keeps two checkpoints. SIGKILL comes at a random moment around one of its saves: while files are written, sealed, or older ones
are deleted. A checkpoint is whole if its weights, optimizer and schedule equal, byte for byte, those of a training that nothing
disturbed. Damages are done to the checkpoints of that training: a file is deleted, cut, gets another bit, a block of zeros or noise at its end. What
`holdfast run` would continue from must never be damaged, and must be the newest whole one that was sealed.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Final

from benchmarks.damages import append, delete, flip, truncate, zero
from benchmarks.machine import heading
from holdfast.adapters.payload import load_runtime
from holdfast.adapters.storage.checkpoints import newest_whole
from holdfast.core.run.checkpoint import MANIFEST, parse_manifest
from holdfast.engine.run.attempt import render_attempt
from tests.helpers.fakes import any_step
from tests.helpers.forked import fork

STEPS: Final = 5
STATE: Final = ("model.safetensors", "optimizer.pt", "scheduler.pt")
DAMAGES: Final = (delete, truncate, flip, zero, append)
TRAIN: Final = f"""
import os, sys, time
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(700, 700)

    def forward(self, x, labels):
        return {{"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}}

class Killer(TrainerCallback):
    def on_step_end(self, args, state, control, **given):
        at, after_s = os.environ["KILL"].split(":")  # a step, and seconds
        if state.global_step == int(at) and not os.fork():
            time.sleep(float(after_s))
            os.kill(os.getppid(), 9)
            os._exit(0)

set_seed(7)
rows = [{{"x": torch.randn(700), "labels": torch.randn(700)}} for _ in range(2 * {STEPS})]
settings = TrainingArguments("out", max_steps={STEPS}, save_steps=1, save_total_limit=int(os.environ["KEEP"]), logging_steps=1, per_device_train_batch_size=2,
    use_cpu=True, report_to="none", disable_tqdm=True)
Trainer(Line(), settings, train_dataset=rows, callbacks=[Killer()]).train()
"""
Digests = Mapping[int, Mapping[str, str]]


def train(folder: Path, kill: str, keep: int = 2) -> int:
    """Run the training in a folder, with so many checkpoints kept; return its exit code."""
    folder.mkdir(parents=True)
    (folder / "attempt.py").write_text(render_attempt(TRAIN, "train.py", load_runtime()))
    variables = {
        "HOLDFAST_ATTEMPT": str(folder),
        "KILL": kill,
        "KEEP": str(keep),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return fork(["attempt.py"], folder, {**os.environ, **variables}).exit_code


def digests_of(checkpoint: Path) -> dict[str, str]:
    """Return the hash of each file that a training continues from."""
    return {
        name: hashlib.sha256((checkpoint / name).read_bytes()).hexdigest()
        for name in STATE
        if (checkpoint / name).is_file()
    }


def checkpoints_of(output: Path) -> dict[int, Path]:
    """Return the checkpoints in a folder by their steps."""
    return {int(path.name.rpartition("-")[2]): path for path in output.glob("checkpoint-*") if path.is_dir()}


def whole_steps(output: Path, right: Digests) -> list[int]:
    """Return the steps whose checkpoints are as they should be, and were sealed."""
    found = checkpoints_of(output)
    return sorted(step for step, path in found.items() if digests_of(path) == right[step] and _is_sealed(path))


def _is_sealed(checkpoint: Path) -> bool:
    try:
        files = parse_manifest((checkpoint / MANIFEST).read_text()).files
    except (OSError, ValueError):
        return False
    return all(
        (checkpoint / name).is_file() and hashlib.sha256((checkpoint / name).read_bytes()).hexdigest() == file.sha256
        for name, file in files.items()
    )


def judge(output: Path, right: Digests) -> Iterator[str]:
    """Yield what is wrong with the choice of a checkpoint."""
    chosen, _ = newest_whole(output, usable=any_step)
    whole = whole_steps(output, right)
    step = int(chosen.name.rpartition("-")[2]) if chosen else None
    if chosen and digests_of(chosen) != right[step or 0]:
        yield f"{chosen.name} is damaged, and was chosen"
    if step != (whole[-1] if whole else None):
        yield f"{chosen and chosen.name} was chosen, and the whole ones are {whole}"


def reference(place: Path) -> tuple[Digests, float]:
    """Return the hashes of every checkpoint of a training that nothing disturbed, and how long a save takes, from its step to its manifest."""
    folder = place / "straight"
    train(folder, "0:0", keep=STEPS)
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    took_s = median(each["elapsed_s"] for each in events if each["event"] == "checkpoint")
    return {step: digests_of(path) for step, path in checkpoints_of(folder / "out").items()}, took_s


def kill_saves(place: Path, count: int, seed: int, right: Digests, save_s: float) -> Counter[str]:
    """Kill trainings around their saves; return the outcomes."""
    outcomes = Counter[str]()
    for number in range(seed, seed + count):
        dice = random.Random(number)  # noqa: S311 - no secret
        folder = place / str(number)
        code = train(folder, f"{dice.randint(2, STEPS)}:{dice.uniform(0, 1.5 * save_s):.4f}")
        left = checkpoints_of(folder / "out")
        unsealed = any(not _is_sealed(path) for path in left.values())
        wrongs = [*judge(folder / "out", right)]
        outcomes["wrong" if wrongs else "ended before" if code == 0 else "cut" if unsealed else "between"] += 1
        for wrong in wrongs:
            print(f"kill {number} in {folder}: {wrong}", flush=True)
        if not wrongs:
            shutil.rmtree(folder)
    return outcomes


def damage_files(place: Path, count: int, seed: int, right: Digests) -> Counter[str]:
    """Damage one file of the newest checkpoints; return the outcomes by damage."""
    outcomes, kept, output = Counter[str](), place / "straight" / "out", place / "damaged"
    for number in range(seed, seed + count):
        dice = random.Random(number)  # noqa: S311 - no secret
        shutil.copytree(kept, output)
        files = sorted(path for path in output.rglob("*") if path.is_file())
        path, damage = dice.choice(files), dice.choice(DAMAGES)
        damage(path, dice)
        wrongs = [*judge(output, right)]
        outcomes["wrong" if wrongs else damage.__name__] += 1
        for wrong in wrongs:
            print(f"damage {number}, {damage.__name__} {path.relative_to(output)}: {wrong}", flush=True)
        shutil.rmtree(output)
    return outcomes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", nargs="?", type=int, default=1000)
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    asked = parser.parse_args()
    place = Path(mkdtemp(prefix="corrupt-"))  # which keeps what is wrong
    right, save_s = reference(place)
    print(heading("checkpoints that a run continues from"), flush=True)
    for name, outcomes in (
        ("damaged", damage_files(place, asked.damages, asked.seed, right)),
        ("killed while saving", kill_saves(place, asked.kills, asked.seed, right, save_s)),
    ):
        print(f"{name}: {', '.join(f'{outcome} {count}' for outcome, count in sorted(outcomes.items()))}", flush=True)


if __name__ == "__main__":
    main()
