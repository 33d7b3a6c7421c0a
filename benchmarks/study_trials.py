"""Studies: one of twelve real trials that ends with the right best and both causes, and what a study costs over its trainings alone.

    .venv/bin/python -m benchmarks.study_trials real [--parallel 2] [--backend local] [--folder FOLDER]
    .venv/bin/python -m benchmarks.study_trials quick [--trials 20] [--seconds 1]
    .venv/bin/python -m benchmarks.study_trials many [--trials 1000]

`real` trains `builtin:tiny-chat` on two datasets with three rates and two seeds; of two trials, one raises an exception in the user's own
function, and one is killed. `quick` runs trials whose training only waits (`tests/helpers/quick_training.py`), beside the same programs in
a loop. `many` writes the ledger of so many trials that have run, each of 30 steps, and shows and lists them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from benchmarks.machine import heading
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.study.preparing import prepare_trials
from holdfast.app.study.reading import read_study
from holdfast.core.run.event import Closed, Event, Reported, RunRequested, RunStage, Started, Starting
from holdfast.core.run.requested_job import RequestedJob
from tests.helpers.quick_training import QuickStudy

STUDY = """\
name: twelve
job:
  method: sft
  model: builtin:tiny-chat
  dataset: {path: sums.jsonl, eval_fraction: 0.2, map: "faults.py:keep"}
  train: {max_steps: 20, per_device_train_batch_size: 8, max_length: 64}
  samples: {prompts: 0}
  recover: {attempts: 1}
  where: WHERE
grid:
  dataset.path: [sums.jsonl, products.jsonl]
  train.learning_rate: [1.0e-4, 1.0e-3, 1.0e-2]
seeds: [1, 2]
metric: eval_loss
"""
FAULTS = """\
import os, signal, sys

settings = vars(sys.modules["__main__"]) if os.environ.get("HOLDFAST_RUN") else {}

def keep(row):
    if settings.get("SEED") == 2 and settings["TRAIN"]["learning_rate"] == 1e-4:
        if settings["DATASET"].endswith("sums.jsonl"):
            raise ValueError(f"a row of {len(row)} columns, which this function does not know")
        os.kill(os.getpid(), signal.SIGKILL)
    return dict(row)
"""
STEPS = 30
"""Steps of each trial of `many`, each with an evaluation."""
FAILING = [2, 8]
"""The numbers of the trials that are made to fail."""


def make_study(folder: Path, parallel: int, where: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Write the study of twelve trials with its data, and return its file.

    Args:
        folder: The folder to write in.
        parallel: How many trials run at once.
        where: Keys of the job's `where`.
    """
    for name, sign, result in (("sums", "plus", int.__add__), ("products", "times", int.__mul__)):
        rows = [
            {
                "messages": [
                    {"role": "user", "content": f"What is {a} {sign} {b}?"},
                    {"role": "assistant", "content": f"It is {result(a, b)}."},
                ]
            }
            for a in range(20)
            for b in range(12)
        ]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "faults.py").write_text(FAULTS)
    file = folder / "study.yaml"
    file.write_text(f"{STUDY.replace('WHERE', json.dumps({**where}))}parallel: {parallel}\n")
    return file


def run_study(folder: Path, *options: str) -> tuple[float, dict[str, Any]]:
    """Run the study in a folder as a user does; return how long that took, and the result."""
    words = [
        sys.executable,
        "-m",
        "holdfast",
        "study",
        "study.yaml",
        "--offline",
        "--yes",
        "--quiet",
        "--format",
        "json",
    ]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    begun_s = time.monotonic()
    done = subprocess.run([*words, *options], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if '"errors"' in done.stdout or not done.stdout:
        raise SystemExit(done.stdout or done.stderr)
    return time.monotonic() - begun_s, json.loads(done.stdout)


def measure_real(folder: Path, parallel: int, backend: str) -> None:
    """Run the study of twelve trials, and print what it gives."""
    make_study(folder, parallel, {"backend": backend})
    took_s, answer = run_study(folder)
    print(heading("a study of 12 trials"))
    print(json.dumps({name: answer[name] for name in ("verdict", "best", "importance", "failed")}, indent=1))
    failed = [each["number"] for each in answer["failed"]]
    print(f"{took_s:.0f} s with {parallel} at once; trials took {answer['elapsed_s']:.0f} s, added up")
    print("the trials that failed are those that were made to" if failed == FAILING else f"WRONG: {failed} failed")


def measure_quick(trials: int, seconds: float) -> None:
    """Print how long a study takes beside the same trainings in a loop."""
    with TemporaryDirectory() as scratch:
        study = QuickStudy(Path(scratch), seconds)
        study.write(seeds=list(range(trials)))
        before = os.times()
        took_s, answer = run_study(Path(scratch), "--no-rehearse")
        used_s = processor_s(before)  # of holdfast alone: what it starts is left to guards, which nobody waits for
        attempts = sorted(Path(scratch).glob("runs/*/attempts/1"))
        program = study.job["where"]["options"]["python"]
        begun_s = time.monotonic()
        for attempt in attempts:
            environment = {**os.environ, "HOLDFAST_ATTEMPT": scratch, "HOLDFAST_RUN": scratch}
            subprocess.run([program, str(attempt / "attempt.py")], env=environment, check=True)
        loop_s = time.monotonic() - begun_s
        begun_s = time.monotonic()
        run_study(Path(scratch), "--no-rehearse")
        again_s = time.monotonic() - begun_s
    print(heading(f"{trials} trials of {seconds:g} s: {answer['verdict']}"))
    print(f"study {took_s:.1f} s, loop {loop_s:.1f} s: {(took_s - loop_s) / trials:.2f} s a trial")
    print(f"{used_s:.1f} s of processor, imports included: {used_s / trials:.2f} s a trial")
    print(f"the same command again: {again_s:.1f} s")


def processor_s(before: os.times_result) -> float:
    """Return the processor seconds that finished child processes have used since then."""
    now = os.times()
    return now.children_user + now.children_system - before.children_user - before.children_system


def measure_many(trials: int) -> None:
    """Print how long a study with many trials takes that have run: to show it with its page, and to list the runs."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        study = QuickStudy(folder)
        study.write(seeds=list(range(trials)))
        write_trials(study)
        print(heading(f"{trials} trials in the ledger"))
        for words in (["study", "study.yaml", "--yes", "--offline"], ["study", "study.yaml", "--show"], ["runs"]):
            begun_s, before = time.monotonic(), os.times()
            command = [sys.executable, "-m", "holdfast", *words, "--format", "json"]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            print(
                f"holdfast {' '.join(words)}: {time.monotonic() - begun_s:.1f} s, {processor_s(before):.1f} s of processor"
            )
        page = folder / "runs" / "studies" / "study" / "report.html"
        print(f"report.html has {page.stat().st_size / 1e6:.1f} MB")


def write_trials(study: QuickStudy) -> None:
    """Write a run for each trial of a study, as one that succeeded."""
    file = read_study(str(study.file))
    for number, each in enumerate(prepare_trials(file)):
        ledger, name = Ledger(study.runs), f"study-{number:06}"
        folder = study.runs / name
        about = RequestedJob(job="study", study="study", trial=each.content)
        said = {"schema": 1, "rank": 0, "max_steps": STEPS}
        events: list[Event] = [
            RunRequested(at_s=number, folder=str(folder), about=about),
            Starting(at_s=number, attempt=1, backend="local"),
            Started(at_s=number, attempt=1, id=str(folder)),
            *(
                Reported(
                    at_s=number + step / STEPS,
                    attempt=1,
                    said={**said, "event": kind, "at": number, "step": step, **figures},
                )
                for step in range(1, STEPS + 1)
                for kind, figures in (("step", {"loss": 1 / step}), ("evaluate", {"metrics": {"eval_loss": 1 / step}}))
            ),
            Closed(at_s=number + 1, stage=RunStage.SUCCEEDED),
        ]
        folder.mkdir(parents=True)
        ledger.append(name, events)


def main() -> None:
    """Measure and print."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=("real", "quick", "many"))
    words.add_argument("--parallel", type=int, default=2)
    words.add_argument("--backend", choices=("local", "fake"), default="local")
    words.add_argument("--trials", type=int, default=20)
    words.add_argument("--seconds", type=float, default=1.0)
    words.add_argument("--folder", type=Path, help="an empty folder that keeps the study of `real`")
    asked = words.parse_args()
    if asked.what == "quick":
        measure_quick(asked.trials, asked.seconds)
    elif asked.what == "many":
        measure_many(asked.trials)
    elif asked.folder:
        measure_real(asked.folder, asked.parallel, asked.backend)
    else:
        with TemporaryDirectory() as scratch:
            measure_real(Path(scratch), asked.parallel, asked.backend)


if __name__ == "__main__":
    main()
