"""Faults injected into a real tiny training, run bare and under holdfast: which end with the right model without a person, or are refused?

    .venv/bin/python -m benchmarks.recover_faults [NAME...] [--list] [--part 1/2]

Bare is the script of the job, started once. Under holdfast is `holdfast run` without a rehearsal, in this process, its attempts forked from a
process that has imported TRL; pauses between attempts are shortened. Right is a model whose weights differ from those of an undisturbed
training by no more than `ROUNDING`, or, where the remedy says that they differ, one that reached its last step; right is, too, a run that
ends with the cause that was injected, if nothing but a person helps against it. What raises an error with the message of the real one
is simulated: memory, ports, loader workers, the disk, the network. Signals, silences, damaged checkpoints, a disk that is full at a save and
losses are real.
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


KILLED = permits("killed")
STALLS = "where.stall_timeout=200s"
WORKER, ACCUMULATED = "train.dataloader_num_workers=1", "train.gradient_accumulation_steps=2"
FAULTS = (
    Injected(name="memory in training, first step", fault="oom-train@0"),
    Injected(name="memory in training, amid an epoch", fault="oom-train@8"),
    Injected(name="memory in training, two times", fault="oom-train@4", sets=("train.per_device_train_batch_size=8",)),
    Injected(name="memory in training, accumulated", fault="oom-train@2", sets=(ACCUMULATED,)),
    Injected(name="memory of activations", fault="oom-activations@4", sets=("train.per_device_train_batch_size=1",)),
    Injected(name="memory in an evaluation", fault="oom-eval@6"),
    Injected(name="memory in the first evaluation", fault="oom-eval@3"),
    Injected(name="memory in pieces", fault="oom-pieces@5"),
    Injected(name="memory taken by other processes", fault="oom-others@5"),
    Injected(name="main memory, on a CPU", fault="oom-main@5"),
    Injected(name="memory, hidden by cuBLAS", fault="cublas@5"),
    Injected(name="memory at a save", fault="oom-save@6", ends="cuda-oom-at-save"),
    Injected(
        name="memory, nothing permitted", fault="oom-train@4", sets=("recover.allow=[]",), ends="cuda-oom-train-step"
    ),
    Injected(name="loader worker died", fault="worker@4", sets=(WORKER,)),
    Injected(name="loader worker hung", fault="worker-hung@4", sets=(WORKER,)),
    Injected(name="loader worker killed for memory", fault="worker-killed@4", sets=(WORKER,)),
    Injected(name="shared memory", fault="shm@4", sets=(WORKER,)),
    Injected(name="worker that maps rows died", fault="map-worker@0", sets=("train.dataset_num_proc=2",)),
    Injected(name="port in use", fault="port@0"),
    Injected(name="parameters without gradient under DDP", fault="unused@1"),
    Injected(
        name="reentrant checkpointing under DDP", fault="reentrant@1", sets=("train.gradient_checkpointing=true",)
    ),
    Injected(name="memory error of the GPU (ECC)", fault="ecc@5"),
    Injected(name="illegal memory access", fault="illegal@5"),
    Injected(name="kernel that failed to launch", fault="launch@5"),
    Injected(name="NaN, batch left out", fault="nan@6", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN, lower rate", fault="nan@6", sets=(permits("learning_rate"),), ends="whole"),
    Injected(name="infinite gradients", fault="inf@6", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN in the first step", fault="nan@0", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN, nothing permitted", fault="nan@6", ends="nan-loss-silent-success"),
    Injected(name="network", fault="network@5"),
    Injected(name="download that breaks off", fault="download@0"),
    *(Injected(name=f"{code} of the Hub", fault=f"{code}@5") for code in (429, 500, 502, 503, 504)),
    Injected(name="401 of the Hub", fault="401@5", ends="hub-token-invalid"),
    *(
        Injected(name=f"network, and the newest checkpoint: {name}", fault=f"network@8+{damage}")
        for name, damage in (
            ("cut in half", "truncate"),
            ("a flipped bit", "flip"),
            ("a block of zeros", "zeros"),
            ("no optimizer", "missing"),
            ("no weights", "no-weights"),
            ("no manifest", "unsealed"),
            ("an empty folder", "empty"),
            ("another trainer state", "state"),
        )
    ),
    Injected(name="network, and all checkpoints damaged", fault="network@8+all"),
    Injected(name="unknown cause, tried once more", fault="exit@5", sets=(permits("unknown_once"),)),
    Injected(name="unknown cause", fault="exit@5", ends=""),
    Injected(name="exit code 0 amid training", fault="exit-0@5", sets=(permits("unknown_once"),)),
    Injected(name="sys.exit amid training", fault="leave@5", ends="user-code-error"),
    Injected(name="fault of the user's code", fault="bug@5", ends="user-code-error"),
    Injected(name="fault in the map of rows", fault="bug-map@0", ends="user-code-error"),
    Injected(name="disk full", fault="disk@5", ends="disk-full"),
    Injected(name="disk full at a save (ENOSPC)", fault="full@6", ends="disk-full"),
    Injected(name="quota of the disk", fault="quota@5", ends="disk-quota-exceeded"),
    Injected(name="read-only file system", fault="read-only@5", ends="output-path-not-writable"),
    Injected(name="too many open files", fault="open-files@5", ends="open-files-limit"),
    Injected(name="a step that hangs", fault="hang@5", sets=(STALLS,)),
    Injected(name="an evaluation that hangs", fault="hang-eval@6", sets=(STALLS,)),
    Injected(name="a save that hangs", fault="hang-save@6", sets=(STALLS,)),
    Injected(name="a machine that is suspended", fault="pause@5"),
    Injected(name="SIGKILL by somebody", fault="kill@7", ends="job-cancelled-externally"),
    Injected(name="SIGTERM by somebody", fault="term@7", ends="job-preempted-or-requeued"),
    Injected(name="SIGHUP of a terminal", fault="hup@7", ends="killed-by-sighup"),
    Injected(name="SIGINT by somebody", fault="int@7", ends="job-cancelled-externally"),
    Injected(name="SIGKILL that is nobody's", fault="kill@7", sets=(KILLED,)),
    Injected(name="SIGKILL in an evaluation", fault="kill-eval@6", sets=(KILLED,)),
    Injected(name="SIGKILL amid a save", fault="cut@6", sets=(KILLED,)),
    Injected(name="preemption (SIGTERM)", fault="term@7", sets=(KILLED,)),
    Injected(name="crash in native code (SIGSEGV)", fault="segv@5", ends="native-crash-segfault"),
    Injected(name="abort in native code (SIGABRT)", fault="abrt@5", ends="native-crash-segfault"),
    *(
        Injected(name=f"refused: {name}", sets=sets, ends=code)
        for name, sets, code in (
            ("no rows", ("dataset.path=nowhere.jsonl",), "DAT102"),
            ("unknown split", ("dataset.split=tranning",), "DAT102"),
            ("renamed argument", ("train.max_seq_length=64",), "ARG101"),
            ("two precisions", ("train.bf16=true", "train.fp16=true"), "PRC102"),
            ("unknown optimizer", ("train.optim=adamm",), "ARG110"),
            ("unknown schedule", ("train.lr_scheduler_type=cosin",), "ARG110"),
            ("a rate that is no number", ("train.learning_rate=fast",), "ARG102"),
            ("a batch of 0", ("train.per_device_train_batch_size=0",), "ARG119"),
            ("no steps", ("train.max_steps=0",), "CMB109"),
            ("tracker that is not installed", ("train.report_to=wandb",), "ARG104"),
            ("flash attention on a CPU", ("model.attn_implementation=flash_attention_2",), "PRC101"),
            ("adapter on no module", ("peft={target_modules: [nowhere]}",), "MOD123"),
            (
                "best model without matching steps",
                ("train.load_best_model_at_end=true", "train.save_steps=4"),
                "EVL102",
            ),
        )
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
    parser.add_argument("--part", default="1/1", help="the first of two parts, to run beside the other: 1/2")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    chosen = [each for each in FAULTS if not arguments.names or each.name.startswith(tuple(arguments.names))]
    chosen = chosen[part - 1 :: parts]
    if arguments.list:
        print("\n".join(each.name for each in chosen))
        return
    print(heading("faults of a training, bare and under holdfast"))
    print("\n| fault | bare | under holdfast | attempts | steps lost | s, bare | s |\n|---|---|---|---|---|---|---|")
    straight: dict[tuple[str, ...], dict[str, object]] = {}
    rights = [0, 0]
    for injected in chosen:
        sets = tuple(each for each in injected.sets if injected.fault and each.startswith("train."))
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
