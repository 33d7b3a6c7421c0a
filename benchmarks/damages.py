"""Stopped runs with one damaged file: `runs`, `show`, `verify` and `resume` have to cope, and no weights may differ.

    .venv/bin/python -m benchmarks.damages [COUNT] [--seed 0]

The number of a case decides which file is damaged, of the run folder, the index of runs or a checkpoint, and how. Then each
command runs. `resume` either succeeds, with the weights of an uninterrupted run, or refuses with an error that says what to do.
A failed case is printed.
"""

import argparse
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.machine import heading
from benchmarks.small_runs import PATIENCE_S, SmallRun

STOP_AT = 5
"""The step after which the run is stopped: with two checkpoints, and half of the training to come."""


def delete(path: Path, _dice: random.Random) -> None:
    """Delete the file."""
    path.unlink()


def empty(path: Path, _dice: random.Random) -> None:
    """Leave nothing in it."""
    path.write_bytes(b"")


def truncate(path: Path, dice: random.Random) -> None:
    """Cut it off somewhere."""
    kept = path.read_bytes()
    path.write_bytes(kept[: dice.randrange(len(kept) + 1)])


def flip(path: Path, dice: random.Random) -> None:
    """Change one bit."""
    kept = bytearray(path.read_bytes() or b"\0")
    kept[dice.randrange(len(kept))] ^= 1 << dice.randrange(8)
    path.write_bytes(kept)


def zero(path: Path, dice: random.Random) -> None:
    """Fill a block with zeros, as a file system does after a loss of power."""
    kept = bytearray(path.read_bytes())
    start = dice.randrange(len(kept) + 1)
    kept[start : start + 512] = bytes(len(kept[start : start + 512]))
    path.write_bytes(kept)


def overwrite(path: Path, dice: random.Random) -> None:
    """Put noise in its place."""
    path.write_bytes(dice.randbytes(max(1, path.stat().st_size)))


def append(path: Path, dice: random.Random) -> None:
    """Add noise to its end."""
    with path.open("ab") as file:
        file.write(dice.randbytes(dice.randint(1, 200)))


def replace_by_folder(path: Path, _dice: random.Random) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def swap(path: Path, dice: random.Random) -> None:
    """Put another file of the same folder in its place."""
    others = sorted(each for each in path.parent.iterdir() if each.is_file() and each != path)
    path.write_bytes(dice.choice(others).read_bytes() if others else b"{}")


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    delete,
    empty,
    truncate,
    flip,
    zero,
    overwrite,
    append,
    replace_by_folder,
    swap,
)


def stop_halfway(folder: Path) -> SmallRun:
    """Return a run that was stopped after some steps."""
    run = SmallRun.make(folder)
    supervisor = run.launch()
    while not any(step >= STOP_AT for step in (run.steps() if run.name else ())):
        if supervisor.poll() is not None:
            raise SystemExit(f"the run ended before it could be stopped: {supervisor.communicate()}")
        time.sleep(0.02)
    run.type("stop", run.name)
    supervisor.communicate(timeout=PATIENCE_S)
    return run


def files_of(run: SmallRun) -> list[Path]:
    """Return the files that a damage can hit."""
    here = (run.runs, run.folder / "out")
    return sorted(path for top in here for path in top.rglob("*") if path.is_file())


def judge(run: SmallRun, damaged: Path, weights: bytes) -> Iterator[str]:
    """Type each command; yield what should not be."""
    checkpoint = damaged.parent if "checkpoint-" in damaged.parent.name else run.folder / "out" / "checkpoint-4"
    name = run.name
    for words in (("runs",), ("show", name), ("verify", str(checkpoint)), ("logs", name)):
        code, printed = run.type(*words)
        if "Traceback" in printed or code not in (0, 1, 2):
            yield f"`holdfast {words[0]}` ended with {code}: {printed}"
    code, printed = run.resume()
    if "Traceback" in printed or code not in (0, 1, 2):
        yield f"`resume` ended with {code}: {printed}"
    elif code and "fix: " not in printed:
        yield f"`resume` ended with {code}, and does not say what to do: {printed}"
    elif not code and run.weights() != weights:
        yield "the weights differ"


def main() -> None:
    """Measure and print."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("count", nargs="?", type=int, default=300)
    words.add_argument("--seed", type=int, default=0, help="the number of the first case")
    asked = words.parse_args()
    place = Path(mkdtemp(prefix="damages-"))
    straight = SmallRun.make(place / "straight")
    straight.launch().communicate(timeout=PATIENCE_S)
    run, kept = stop_halfway(place / "run"), place / "kept"
    shutil.copytree(run.folder, kept, symlinks=True)
    outcomes = Counter[str]()
    for number in range(asked.seed, asked.seed + asked.count):
        dice = random.Random(number)  # noqa: S311 - no secret
        path, damage = dice.choice(files_of(run)), dice.choice(DAMAGES)
        damage(path, dice)
        wrongs = [*judge(run, path, straight.weights())]
        resumed = not wrongs and bool(run.weights())
        outcomes["wrong" if wrongs else "resumed" if resumed else "refused"] += 1
        for wrong in wrongs:
            print(f"case {number}, {damage.__name__} {path.relative_to(run.folder)}: {wrong}", flush=True)
        if not wrongs and not resumed:
            print(f"case {number}, {damage.__name__} {path.relative_to(run.folder)}: refused", flush=True)
        shutil.rmtree(run.folder)
        shutil.copytree(kept, run.folder, symlinks=True)
    print(heading("damaged files of stopped runs"))
    print("   ".join(f"{outcome} {count}" for outcome, count in outcomes.items()))


if __name__ == "__main__":
    main()
