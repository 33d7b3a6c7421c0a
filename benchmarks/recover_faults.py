"""Faults injected into a real tiny training, run bare and under holdfast: which end with the right model without a person, or are refused?

    .venv/bin/python -m benchmarks.recover_faults [NAME...] [--list]

Bare is the script of the job, started once. Under holdfast is `holdfast run` without a rehearsal, in this process, its attempts forked from a
process that has imported TRL; pauses between attempts are shortened. Right is a model whose weights differ from those of an undisturbed
training by no more than `ROUNDING`, or, where the remedy says that they differ, one that reached its last step; right is, too, a run that
ends with the cause that was injected, if nothing but a person helps against it. What raises an error with the message of the real one
is simulated: memory, ports, loader workers, the disk, the network. Signals, damaged checkpoints and losses are real.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from safetensors.torch import load_file

from benchmarks.machine import heading
from holdfast import render
from holdfast.app.run.verb import run
from holdfast.core.errors import HoldfastError
from holdfast.results.run import RunResult
from tests.helpers import training_faults
from tests.helpers.forked import fork
from tests.helpers.forked_backend import ForkedBackend

ROUNDING = 1e-6
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "faults.py:rewrite", eval_fraction: 0.25}
samples: {prompts: 0}
train:
  num_train_epochs: 2
  save_steps: 3
  eval_steps: 3
  logging_steps: 1
  per_device_train_batch_size: 4
  per_device_eval_batch_size: 4
  max_length: 64
"""
ROWS = [
    {"messages": [{"role": role, "content": f"{n} plus {n} is " + "so " * (n % 7)} for role in ("user", "assistant")]}
    for n in range(35)
]


@dataclass(frozen=True, kw_only=True)
class Injected:
    """A fault, and what is right.

    Attributes:
        name: Its name.
        fault: The value of FAULT; empty if the job itself is wrong.
        sets: Overrides of the job.
        ends: `equal`: with the weights of an undisturbed training; `whole`: with a model; else the class or the rule that it is refused or
            stopped for.
    """

    name: str
    fault: str = ""
    sets: tuple[str, ...] = ()
    ends: str = "equal"


def permits(name: str) -> str:
    """Return the override that permits a kind of change."""
    return f"recover.allow=[batch_size, checkpointing, {name}]"


FAULTS = (
    Injected(name="memory in training, first step", fault="oom-train@0"),
    Injected(name="memory in training, amid an epoch", fault="oom-train@8"),
    Injected(name="memory in training, two times", fault="oom-train@4", sets=("train.per_device_train_batch_size=8",)),
    Injected(
        name="memory in training, accumulated", fault="oom-train@2", sets=("train.gradient_accumulation_steps=2",)
    ),
    Injected(name="memory of activations", fault="oom-activations@4", sets=("train.per_device_train_batch_size=1",)),
    Injected(name="memory in an evaluation", fault="oom-eval@6"),
    Injected(name="memory in the first evaluation", fault="oom-eval@3"),
    Injected(name="memory in pieces", fault="oom-pieces@5"),
    Injected(name="main memory, on a CPU", fault="oom-main@5"),
    Injected(name="memory, hidden by cuBLAS", fault="cublas@5"),
    Injected(name="memory at a save", fault="oom-save@6", ends="cuda-oom-at-save"),
    Injected(
        name="memory, nothing permitted", fault="oom-train@4", sets=("recover.allow=[]",), ends="cuda-oom-train-step"
    ),
    Injected(name="loader worker died", fault="worker@4", sets=("train.dataloader_num_workers=1",)),
    Injected(name="shared memory", fault="shm@4", sets=("train.dataloader_num_workers=1",)),
    Injected(name="port in use", fault="port@0"),
    Injected(name="NaN, batch left out", fault="nan@6", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN, nothing permitted", fault="nan@6", ends="nan-loss-silent-success"),
    Injected(name="network", fault="network@5"),
    Injected(name="429 of the Hub", fault="429@5"),
    Injected(name="503 of the Hub", fault="503@5"),
    Injected(name="unknown cause, tried once more", fault="exit@5", sets=(permits("unknown_once"),)),
    Injected(name="unknown cause", fault="exit@5", ends=""),
    Injected(name="fault of the user's code", fault="bug@5", ends="user-code-error"),
    Injected(name="disk full", fault="disk@5", ends="disk-full"),
    Injected(name="a step that hangs", fault="hang@5", sets=("where.stall_timeout=60s",)),
    Injected(name="SIGKILL by somebody", fault="kill@7", ends="job-cancelled-externally"),
    Injected(name="SIGTERM by somebody", fault="term@7", ends="job-preempted-or-requeued"),
    Injected(name="SIGHUP of a terminal", fault="hup@7", ends="killed-by-sighup"),
    Injected(name="no rows", sets=("dataset.path=nowhere.jsonl",), ends="DAT102"),
    Injected(name="renamed argument", sets=("train.max_seq_length=64",), ends="ARG101"),
    Injected(name="two precisions", sets=("train.bf16=true", "train.fp16=true"), ends="PRC102"),
    Injected(name="unknown optimizer", sets=("train.optim=adamm",), ends="ARG110"),
    Injected(
        name="best model without matching steps",
        sets=("train.load_best_model_at_end=true", "train.save_steps=4"),
        ends="EVL102",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a job ended.

    Attributes:
        word: In a word or two.
        right: Whether that is right.
        took_s: Seconds.
        attempts: Attempts that it took.
        lost: Steps that were done twice.
    """

    word: str
    right: bool
    took_s: float
    attempts: int = 1
    lost: int = 0


@contextmanager
def place(fault: str) -> Iterator[Path]:
    """Work in a new folder with the job in it."""
    before = Path.cwd()
    with TemporaryDirectory() as folder, patch.dict(os.environ, {"FAULT": fault} if fault else {}):
        os.chdir(folder)
        Path("job.yaml").write_text(JOB)
        Path("faults.py").write_text(Path(training_faults.__file__).read_text())
        Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def difference(model: Path, right: Mapping[str, object]) -> float:
    """Return the largest difference of a model's weights from the right ones."""
    weights = load_file(model / "model.safetensors")
    return max(float((weights[name] - value).abs().max()) for name, value in right.items())


def play_bare(injected: Injected, right: Mapping[str, object]) -> Outcome:
    """Run the script of the job, once."""
    begun = time.monotonic()
    with place(injected.fault) as folder:
        try:
            Path("script.py").write_text(render("job.yaml", set=injected.sets))
        except (HoldfastError, ExceptionGroup):
            return Outcome(word="not rendered", right=False, took_s=0.0)
        done = fork(["script.py"], folder, {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
        models = [*folder.glob("runs/*/model")]
        took_s = time.monotonic() - begun
        if done.exit_code or not models:
            return Outcome(word=f"exit {done.exit_code}", right=False, took_s=took_s)
        far = difference(models[0], right)
        return Outcome(word="a model" if far < ROUNDING else "a wrong model", right=far < ROUNDING, took_s=took_s)


def play_held(injected: Injected, right: Mapping[str, object]) -> Outcome:
    """Run the job under holdfast."""
    begun = time.monotonic()
    with place(injected.fault), patch("holdfast.engine.recover.policy.FIRST_PAUSE_S", 0.2), patch(
        "holdfast.app.run.runs.open_backend", ForkedBackend.open
    ):  # fmt: skip
        try:
            result = run("job.yaml", set=injected.sets, rehearse=False, offline=True)
        except HoldfastError as error:
            return Outcome(word=f"refused: {error.what}", right=injected.ends == "", took_s=time.monotonic() - begun)
        took_s = time.monotonic() - begun
        word, is_right = judge(injected, result, right)
        resumed = [int((each.resume_from or "-0").rpartition("-")[2]) for each in result.attempts[1:]]
        lost = sum(before.steps - step for before, step in zip(result.attempts, resumed, strict=False))
        return Outcome(word=word, right=is_right, took_s=took_s, attempts=len(result.attempts), lost=lost)


def judge(injected: Injected, result: RunResult, right: Mapping[str, object]) -> tuple[str, bool]:
    """Return how a run ended, and whether that is right."""
    if result.check:
        codes = {each.code for target in result.check.targets for each in target.findings}
        return f"refused: {', '.join(sorted(codes))}", injected.ends in codes
    if result.stage != "succeeded":
        diagnosis = result.attempts[-1].diagnosis if result.attempts else None
        name = diagnosis.name if diagnosis else ""
        return f"stopped: {name or 'unknown cause'}", injected.ends == name
    far = difference(Path(result.output or ""), right)
    if injected.ends == "whole":
        return "a model that says what differs", any(
            each.recovery and each.recovery.differs for each in result.attempts
        )
    return ("the right model" if far < ROUNDING else f"off by {far:.1e}"), injected.ends == "equal" and far < ROUNDING


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--list", action="store_true", help="list the faults")
    arguments = parser.parse_args()
    chosen = [each for each in FAULTS if not arguments.names or each.name.startswith(tuple(arguments.names))]
    if arguments.list:
        print("\n".join(each.name for each in chosen))
        return
    print(heading("faults of a training, bare and under holdfast"))
    print("\n| fault | bare | under holdfast | attempts | steps lost | s, bare | s |\n|---|---|---|---|---|---|---|")
    straight: dict[tuple[str, ...], dict[str, object]] = {}
    rights = [0, 0]
    for injected in chosen:
        sets = injected.sets if injected.fault else ()
        if sets not in straight:
            straight[sets] = play_straight(sets)
        bare = play_bare(injected, straight[sets])
        held = play_held(injected, straight[sets])
        rights = [rights[0] + bare.right, rights[1] + held.right]
        marks = ["" if each.right else " (wrong)" for each in (bare, held)]
        cells = (injected.name, bare.word + marks[0], held.word + marks[1], held.attempts, held.lost)
        print("| " + " | ".join(map(str, cells)) + f" | {bare.took_s:.0f} | {held.took_s:.0f} |", flush=True)
    print(f"\nRight: {rights[0]} of {len(chosen)} bare, {rights[1]} of {len(chosen)} under holdfast.")


def play_straight(sets: tuple[str, ...]) -> dict[str, object]:
    """Return the weights of an undisturbed training."""
    with place(""), patch("holdfast.app.run.runs.open_backend", ForkedBackend.open):
        result = run("job.yaml", set=sets, rehearse=False, offline=True)
        return dict(load_file(f"{result.output}/model.safetensors"))


if __name__ == "__main__":
    main()
