"""A training of a tenth of a second, for studies.

A program takes the place of Python, reads the settings of a rendered script, and writes the events that its training would. What
holdfast does around the training is real: the check, the run folder, the guard, the ledger. A rate of 0.5 fails for a missing module; at
one of 0.25 the process is killed.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.yaml.render import render_lines

FAILING_RATE = 0.5
DYING_RATE = 0.25
PROGRAM = """\
#!{python}
import json, os, re, sys, time
source = open(sys.argv[1]).read()

def setting(pattern, default=None):
    found = re.search(pattern, source)
    return found[1] if found else default

rate = float(setting(r'learning_rate\\\\?": ([0-9.e-]+)', "2e-5"))
seed = int(setting(r"SEED = ([0-9]+)"))
data = setting(r'DATASET = \\\\?"([^"\\\\]+)')
with open({log!r}, "a") as log:
    log.write(json.dumps([rate, seed, os.path.basename(data), os.environ.get("CUDA_VISIBLE_DEVICES", "")]) + "\\n")
if rate == {failing}:
    print("Traceback (most recent call last):\\n  File \\"train.py\\", line 1, in <module>\\n    import bitsandbytes", file=sys.stderr)
    print("ModuleNotFoundError: No module named 'bitsandbytes'", file=sys.stderr)
    sys.exit(1)
if rate == {dying}:
    os.kill(os.getpid(), 9)
events = open(os.path.join(os.environ["HOLDFAST_ATTEMPT"], "events.jsonl"), "a", buffering=1)

def say(event, **fields):
    events.write(json.dumps({{"schema": 1, "event": event, "at": time.time(), "rank": 0, "max_steps": 2, **fields}}) + "\\n")

say("start", step=0, config={{"learning_rate": rate}})
loss = 2 + abs(rate - 0.01) * 100 + 0.01 * (seed % 7) + 0.5 * data.endswith("b.jsonl")
for step in (1, 2):
    time.sleep({seconds} / 2)
    say("step", step=step, loss=loss + 1 / step)
    say("evaluate", step=step, metrics={{"eval_loss": loss + 0.5 / step - 0.25}})
model = os.path.join(os.environ["HOLDFAST_RUN"], "model")
os.makedirs(model, exist_ok=True)
say("end", step=2, status="finished", reason="finished")
"""
ROW = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}


class QuickStudy:
    """A folder with a study whose trials take no time.

    Args:
        folder: The folder.
        seconds: How long a training takes.
    """

    def __init__(self, folder: Path, seconds: float = 0.05) -> None:
        self.folder, self.log = folder, folder / "trainings.jsonl"
        self.file, self.runs = folder / "study.yaml", folder / "runs"
        python = folder / "quick-python"
        python.write_text(
            PROGRAM.format(
                python=sys.executable, log=str(self.log), failing=FAILING_RATE, dying=DYING_RATE, seconds=seconds
            )
        )
        python.chmod(0o755)
        for name in ("a.jsonl", "b.jsonl"):
            rows = [
                {**ROW, "messages": [{"role": "user", "content": f"{name} {number}"}, ROW["messages"][1]]}
                for number in range(20)
            ]
            (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self.job: dict[str, Any] = {
            "method": "sft",
            "model": "builtin:tiny-chat",
            "dataset": {"path": "a.jsonl", "eval_fraction": 0.2},
            "train": {"max_steps": 2, "per_device_train_batch_size": 4, "max_length": 64},
            "where": {"options": {"python": str(python)}},
        }

    def write(self, **values: Any) -> Path:
        """Write the study file, and return it."""
        study = {"job": self.job, "metric": "eval_loss", **values}
        self.file.write_text("".join(f"{line}\n" for line in render_lines(study)))
        return self.file

    def trainings(self) -> Counter[tuple[float, int, str]]:
        """Return how often each training was started: by rate, seed and data."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter((rate, seed, data) for rate, seed, data, _ in map(json.loads, lines))

    def devices(self) -> list[str]:
        """Return the GPUs that each training saw."""
        return [json.loads(line)[3] for line in self.log.read_text().splitlines()]


@pytest.fixture(name="quick")
def quick_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuickStudy:
    """A user's folder with a study."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    return QuickStudy(tmp_path)


def run(quick: QuickStudy, **options: Any) -> dict[str, Any]:
    """Run the study as a user does, without rehearsals and the Hub."""
    return holdfast.study(quick.file, **{"rehearse": False, "offline": True, **options})
