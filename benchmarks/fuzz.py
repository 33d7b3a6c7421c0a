"""Whether any input makes a reader fail: an exception that is not ours, more than 1 GB of memory, or more than 10 seconds of a core.

    .venv/bin/python -m benchmarks.fuzz READER... [--count 100000] [--first 0] [--keep FOLDER]

Input n of a reader is always the same, so that a long run can be split: `--first 0 --count 50000`, `--first 50000 --count 50000`.
The inputs run in a process of their own, which is replaced when one of them kills it. Failing inputs are kept in the folder.
"""

import argparse
import faulthandler
import os
import random
import resource
import subprocess
import sys
import traceback
from collections import Counter
from contextlib import chdir
from pathlib import Path
from signal import ITIMER_PROF, SIGPROF, setitimer
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from tests.helpers.hostile_readers import READERS, run_reader

MEMORY_BYTES: Final = 1 << 30
"""What one reader may take beyond what its imports take."""
LONGEST_S: Final = 10
WARM_UP: Final = 20
"""Good inputs and others that a process reads before its memory is limited, so that everything is imported."""
DIED: Final = "the process died: more memory or time than is allowed, or a crash"


def input_of(name: str, number: int) -> bytes:
    """Return one of a reader's inputs."""
    generator = random.Random(f"{name} {number}")  # noqa: S311 - the same every time
    return READERS[name].input(lambda bound: generator.randrange(max(1, bound)))


def read_some(name: str, first: int, last: int, said: Path) -> None:
    """Read inputs; write down what fails, and after each one how far this came."""
    reader = READERS[name]
    with TemporaryDirectory() as folder, chdir(folder):
        path = reader.place(Path(folder))
        for seed in (*reader.seeds(), *(input_of(name, number) for number in range(first, min(last, first + WARM_UP)))):
            try:
                run_reader(reader, path, seed)
            except Exception as error:  # noqa: BLE001 - it is reported below, when its turn comes
                str(error)
        size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, size + MEMORY_BYTES))
        faulthandler.register(SIGPROF, chain=True)  # says where it is, and dies
        with said.open("a", encoding="utf-8") as file:
            for number in range(first, last):
                setitimer(ITIMER_PROF, LONGEST_S)
                try:
                    run_reader(reader, path, input_of(name, number))
                except (Exception, MemoryError) as error:  # noqa: BLE001 - whatever it is, it is the finding
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    print(
                        f"{number}\t{type(error).__name__}: {error!s:.300} ({where.filename}:{where.lineno})".replace(
                            "\n", " "
                        ),
                        file=file,
                    )
                print(number, file=file, flush=True)
    setitimer(ITIMER_PROF, 0)


def fuzz(name: str, first: int, count: int, keep: Path) -> Counter[str]:
    """Have inputs read; keep those that fail, and return how often each failure came up."""
    failures = Counter[str]()
    last, number = first + count, first
    with TemporaryDirectory() as folder:
        said = Path(folder, "said")
        while number < last:
            said.write_text("", encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "benchmarks.fuzz",
                name,
                "--child",
                str(said),
                "--first",
                str(number),
                "--count",
                str(last - number),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = said.read_text(encoding="utf-8").splitlines()
            for line in (line for line in lines if "\t" in line):
                at, _, what = line.partition("\t")
                _note(name, int(at), what, keep, failures)
            number = max((int(line) for line in lines if "\t" not in line), default=number - 1) + 1
            if number < last:
                _note(name, number, f"{DIED}: {done.returncode} {done.stderr[-1500:]}", keep, failures)
                number += 1
    return failures


def _note(name: str, number: int, what: str, keep: Path, failures: Counter[str]) -> None:
    kind = what.partition(" (")[0][:70] + what[what.rfind("(") :] if "died" not in what else what[:1200]
    failures[kind] += 1
    if failures[kind] <= 2:  # noqa: PLR2004 - a second one helps to see what they share
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name}-{number}").write_bytes(input_of(name, number))
        print(f"{name} {number}: {what}", flush=True)


def main() -> None:
    """Fuzz the readers that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("readers", nargs="*", default=list(READERS))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzzed"))
    parser.add_argument("--child", type=Path)
    asked = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name in asked.readers:
        if asked.child:
            read_some(name, asked.first, asked.first + asked.count, asked.child)
            continue
        start = monotonic()
        failures = fuzz(name, asked.first, asked.count, asked.keep)
        rate = asked.count / (monotonic() - start)
        print(
            f"{name}: {asked.count:,} inputs, {failures.total():,} failures of {len(failures)} kinds, {rate:.0f} a second",
            flush=True,
        )


if __name__ == "__main__":
    main()
