"""What the runtime costs a training step: the same script bare and watched, in turns.

    .venv/bin/python -m benchmarks.runtime_overhead

The trainer logs at every step, which is the worst case. Whole steps are compared pair by pair, by the clock and by
processor time; on a busy machine either spreads far wider than what it is to show. So the time inside the runtime's
callback is measured too, by processor time, as a share of the step. Target: under 0.5 % of a step of 200 ms.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.machine import heading
from holdfast.adapters.payload import load_runtime
from holdfast.engine.run.attempt import render_attempt

TARGET = 0.005
PAIRS = 6
STEPS = 45
WARM_UP = 5  # first steps, which allocate

SCRIPT = f'''
import json
import sys
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

STEP_S, STEPS, WARM_UP = 0.2, {STEPS}, {WARM_UP}


class Busy(torch.nn.Module):
    """Multiplies matrices for as long as a step is to take."""

    def __init__(self, rounds):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512)
        self.rounds = rounds or self.calibrated()

    def forward(self, x, labels=None):
        loss = 0
        for _ in range(self.rounds):
            loss = loss + self.layer(x).square().mean()
        return {{"loss": loss}}

    def calibrated(self):
        self.rounds, took_s = 10, []
        for _ in range(10):
            began = time.thread_time()
            self(torch.ones(512, 512))["loss"].backward()
            took_s.append(time.thread_time() - began)
        return max(1, round(self.rounds * STEP_S / min(took_s)))


class Timer(TrainerCallback):
    """Marks each step by the clock and by processor time."""

    def __init__(self):
        self.marks = []

    def on_step_begin(self, *_, **__):
        self.marks.append((time.perf_counter(), time.thread_time(), spent[0]))


def measure(callback):
    """Add up the processor time that a callback takes."""
    for name in [name for name in dir(callback) if name.startswith("on_")]:
        def timed(*args, original=getattr(callback, name), **kwargs):
            began = time.thread_time()
            original(*args, **kwargs)
            spent[0] += time.thread_time() - began
        setattr(callback, name, timed)


spent = [0.0]
rounds, folder = sys.argv[1:]
model, timer = Busy(int(rounds)), Timer()
settings = TrainingArguments(
    folder, max_steps=STEPS, per_device_train_batch_size=1, logging_steps=1, save_strategy="no", use_cpu=True,
    report_to="none", disable_tqdm=True, dataloader_pin_memory=False,
)
trainer = Trainer(model, settings, train_dataset=[{{"x": torch.ones(512, 512)}}] * STEPS, callbacks=[timer])
for callback in trainer.callback_handler.callbacks:
    if type(callback).__name__ == "HoldfastCallback":
        measure(callback)
trainer.train()
steps = [[b - a for a, b in zip(*pair)] for pair in zip(timer.marks[WARM_UP:], timer.marks[WARM_UP + 1 :])]
print("RESULT", json.dumps({{"rounds": model.rounds, "steps": steps}}))
'''


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the steps of one run, in seconds."""

    rounds: int
    wall_s: float
    cpu_s: float
    inside_s: float


def run(program: Path, rounds: int) -> Measured:
    """Train once; `rounds` of 0 has the script find out how many fill a step."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HOLDFAST_ATTEMPT": str(program.parent / "attempt")}
    words = [sys.executable, str(program), str(rounds), str(program.parent / "out")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.partition("RESULT")[2])
    return Measured(result["rounds"], *(median(column) for column in zip(*result["steps"], strict=True)))


def spread(values: Sequence[float]) -> str:
    """Return median and extremes as percentages."""
    return f"{median(values):+8.3%}   ({min(values):+.3%} to {max(values):+.3%})"


def main() -> int:
    """Print all three answers; 1 if the runtime costs more than it may."""
    with tempfile.TemporaryDirectory() as folder:
        bare, watched = Path(folder, "bare.py"), Path(folder, "attempt.py")
        bare.write_text(SCRIPT)
        watched.write_text(render_attempt(SCRIPT, "bare.py", load_runtime()))
        rounds = run(bare, 0).rounds
        orders = [(bare, watched) if pair % 2 else (watched, bare) for pair in range(PAIRS)]
        pairs = [{program: run(program, rounds) for program in order} for order in orders]
    print(heading("the runtime's overhead"))
    print(f"bare step, ms            {median(pair[bare].wall_s for pair in pairs) * 1e3:8.0f}   {PAIRS} pairs of runs")
    print(f"watched, by the clock    {spread([pair[watched].wall_s / pair[bare].wall_s - 1 for pair in pairs])}")
    print(f"watched, processor time  {spread([pair[watched].cpu_s / pair[bare].cpu_s - 1 for pair in pairs])}")
    inside = [pair[watched].inside_s / pair[watched].cpu_s for pair in pairs]
    print(f"inside the callback      {spread(inside)}")
    return int(median(inside) > TARGET)


if __name__ == "__main__":
    sys.exit(main())
