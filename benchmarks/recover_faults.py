"""Faults injected into a real tiny training, run bare and under holdfast: which end with the right model without a person, or are refused?

    .venv/bin/python -m benchmarks.recover_faults [NAME...] [--list] [--part 1/2] [--keep FILE]

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
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from safetensors.torch import load_file

from benchmarks.fault_kinds import FAULTS, Injected
from benchmarks.machine import heading
from holdfast import render
from holdfast.app.run.verb import run
from holdfast.core.errors import HoldfastError
from holdfast.results.run import RunResult
from tests.helpers import training_faults
from tests.helpers.forked import fork
from tests.helpers.forked_backend import ForkedBackend

ROUNDING = 1e-6
LONGEST_S = 180
"""Seconds after which a bare job that hangs is ended by SIGALRM: nobody else would."""
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
            limit = f"import signal; signal.alarm({LONGEST_S})\n"
            Path("script.py").write_text(limit + render("job.yaml", set=injected.sets))
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


def play_straight(sets: tuple[str, ...]) -> dict[str, object]:
    """Return the weights of an undisturbed training."""
    with place(""), patch("holdfast.app.run.runs.open_backend", ForkedBackend.open):
        result = run("job.yaml", set=sets, rehearse=False, offline=True)
        return dict(load_file(f"{result.output}/model.safetensors"))


class Bench:
    """Plays faults, and keeps each result in a file, so that a kind that has one is not played again."""

    def __init__(self, kept: Path | None) -> None:
        self._kept = kept
        self._straight: dict[tuple[str, ...], dict[str, object]] = {}
        lines = kept.read_text().splitlines() if kept and kept.exists() else []
        self._rows = {row["name"]: Row(**row) for row in map(json.loads, lines)}

    def row(self, injected: Injected) -> "Row":
        """Return the row of a fault: the one that was kept, or else a new one."""
        if injected.name not in self._rows:
            self._rows[injected.name] = row = self._play(injected)
            if self._kept:
                with self._kept.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
        return self._rows[injected.name]

    def _play(self, injected: Injected) -> "Row":
        sets = tuple(each for each in injected.sets if injected.fault and each.startswith("train."))
        if sets not in self._straight:
            self._straight[sets] = play_straight(sets)
        bare, held = play_bare(injected, self._straight[sets]), play_held(injected, self._straight[sets])
        marks = ["" if each.right else " (wrong)" for each in (bare, held)]
        cells = (injected.name, bare.word + marks[0], held.word + marks[1], held.attempts, held.lost)
        line = f"| {' | '.join(map(str, cells))} | {bare.took_s:.0f} | {held.took_s:.0f} |"
        return Row(name=injected.name, bare=bare.right, held=held.right, line=line)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table.

    Attributes:
        name: The fault.
        bare: Whether the job ended right by itself.
        held: Whether it ended right under holdfast.
        line: The line, in Markdown.
    """

    name: str
    bare: bool
    held: bool
    line: str


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--list", action="store_true", help="list the faults")
    parser.add_argument("--part", default="1/1", help="the first of two parts, to run beside the other: 1/2")
    parser.add_argument("--keep", type=Path, help="a file for results; kinds that have one there are not played again")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    chosen = [each for each in FAULTS if not arguments.names or each.name.startswith(tuple(arguments.names))]
    chosen = chosen[part - 1 :: parts]
    if arguments.list:
        print("\n".join(each.name for each in chosen))
        return
    print(heading("faults of a training, bare and under holdfast"))
    print("\n| fault | bare | under holdfast | attempts | steps lost | s, bare | s |\n|---|---|---|---|---|---|---|")
    bench, rows = Bench(arguments.keep), []
    for injected in chosen:
        rows.append(bench.row(injected))
        print(rows[-1].line, flush=True)
    bare, held = sum(row.bare for row in rows), sum(row.held for row in rows)
    print(f"\nRight: {bare} of {len(rows)} bare, {held} of {len(rows)} under holdfast.")


if __name__ == "__main__":
    main()
