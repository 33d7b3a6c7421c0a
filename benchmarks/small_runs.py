"""A run of seconds, with a real `Trainer` or a stand-in, whose end can be judged: for what kills it, and for what damages its files."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from holdfast.adapters.storage.ledger import Ledger
from holdfast.core.run.event import Reported
from holdfast.core.run.run_state import RunState, fold

STAND_INS = Path(__file__).parent / "stand_in"
STEPS = 8
PATIENCE_S = 300.0
HEAD = """
import fcntl, os, signal, sys, time

alive = open("alive.lock", "a")
try:
    fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open("twice.txt", "a").write("two attempts live at once\\n")

from kill_at_write import arm
arm("TRAINING_KILLED_AT")
"""
TRAIN = f"""
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x, labels):
        return {{"loss": torch.nn.functional.mse_loss(torch.nn.functional.dropout(self.layer(x), 0.2, self.training), labels)}}

class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **given):
        time.sleep(0.05)

set_seed(7)
rows = [{{"x": torch.randn(8), "labels": torch.randn(8)}} for _ in range(64)]
settings = TrainingArguments("out", max_steps={STEPS}, save_steps=2, logging_steps=1, per_device_train_batch_size=4, use_cpu=True,
    report_to="none", disable_tqdm=True)
trainer = Trainer(Line(), settings, train_dataset=rows, callbacks=[Slow()])
trainer.train()
trainer.save_model("out/final")
"""
STAND_IN = f"""
from transformers import Trainer, TrainerCallback, TrainingArguments
from number_model import Model

class Slow(TrainerCallback):
    def on_step_end(self, args, state, control, **given):
        time.sleep(0.05)

settings = TrainingArguments("out", max_steps={STEPS}, save_steps=2, logging_steps=1, use_cpu=True, report_to="none")
trainer = Trainer(Model(7), settings, train_dataset=[*range(64)], callbacks=[Slow()])
trainer.train()
trainer.save_model("out/final")
"""
KILL_AT_WRITE = """
import os, signal, sys

def arm(variable):
    '''Have this process killed before one of its writes to the folder of runs; the variable says before which.'''
    at, runs, count = int(os.environ.pop(variable, "0")), os.environ["HOLDFAST_RUNS"], 0

    def hook(event, args):
        nonlocal count
        if event == "open":
            write = isinstance(args[0], str) and args[0].startswith(runs) and bool((args[2] or 0) & (os.O_WRONLY | os.O_RDWR))
        else:
            write = event in ("os.rename", "os.mkdir", "os.link", "os.truncate", "os.remove", "subprocess.Popen")
        count += write
        if write and count == at:
            os.kill(os.getpid(), signal.SIGKILL)

    if at:
        sys.addaudithook(hook)
"""
SUPERVISOR = """
import sys
from holdfast.cli.main import run_command
from kill_at_write import arm
arm("SUPERVISOR_KILLED_AT")
sys.exit(run_command(sys.argv[1:]))
"""


@dataclass(frozen=True, slots=True)
class SmallRun:
    """A folder with a script that trains, and the one run of it.

    Attributes:
        folder: Where commands are typed.
        stand_in: Whether stand-ins for torch and transformers are in their place.
    """

    folder: Path
    stand_in: bool = False

    @classmethod
    def make(cls, folder: Path, *, stand_in: bool = False) -> "SmallRun":
        """Make the folder and the script."""
        folder.mkdir(parents=True)
        (folder / "train.py").write_text(HEAD + (STAND_IN if stand_in else TRAIN))
        (folder / "kill_at_write.py").write_text(KILL_AT_WRITE)
        return cls(folder, stand_in)

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return self.folder / "runs"

    @property
    def name(self) -> str:
        """The run's name; empty where there is none yet."""
        names = [each.name for each in self.runs.glob("[!.]*") if each.is_dir()]
        return names[0] if names else ""

    def start(self, *words: str, **variables: str) -> "subprocess.Popen[str]":
        """Start a command of holdfast."""
        own = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        found = os.pathsep.join([str(self.folder), *([str(STAND_INS)] if self.stand_in else [])])
        environment = {**os.environ, **own, "HOLDFAST_RUNS": str(self.runs), "PYTHONPATH": found, **variables}
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", SUPERVISOR, *words]
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, stdout=pipe, stderr=pipe)

    def launch(self, **variables: str) -> "subprocess.Popen[str]":
        """Start the run."""
        return self.start("run", "train.py", "--no-rehearse", "--offline", "--quiet", **variables)

    def type(self, *words: str) -> tuple[int, str]:
        """Type a command to its end; return its exit code and all that it printed."""
        process = self.start(*words)
        printed = "".join(process.communicate(timeout=PATIENCE_S))
        return process.returncode, printed

    def resume(self) -> tuple[int, str]:
        """Type `holdfast resume`."""
        return self.type("resume", self.name, "--quiet")

    def training(self) -> list[psutil.Process]:
        """The live training processes."""
        paths = self.runs.glob("*/attempts/*/pids/rank-*")
        numbers = [int(text) for path in paths if (text := path.read_text())]
        live = []
        for number in numbers:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(number)
                if process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(self.folder):
                    live.append(process)
        return live

    def kill_training(self) -> None:
        """End what trains, as the kernel does where memory is short."""
        for process in self.training():
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)

    def state(self) -> RunState:
        """The run's state, as its ledger has it."""
        return fold(event for _, event in Ledger(self.runs).read(self.name))

    def steps(self) -> set[int]:
        """The steps that reached the ledger."""
        said = [event.said for _, event in Ledger(self.runs).read(self.name) if isinstance(event, Reported)]
        return {each["step"] for each in said if each["event"] == "step"}

    def weights(self) -> bytes:
        """The weights of the model; empty where it was not saved."""
        path = self.folder / "out" / "final" / "model.safetensors"
        return path.read_bytes() if path.exists() else b""
