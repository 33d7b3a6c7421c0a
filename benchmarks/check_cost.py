"""The processor time that `holdfast check` takes for each of many real scripts, in one process that has imported everything.

    .venv/bin/python -m benchmarks.check_cost SCRIPTS.jsonl CLONES

The scripts are those of `benchmarks.check_scripts`. To compare two versions, run both at the same time: `PYTHONPATH=OTHER/src` names the
sources of the other.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from statistics import mean, median
from tempfile import TemporaryDirectory

from benchmarks.check.clones import Clone, around, lay_out
from benchmarks.check_scripts import RECURSION, load_rows, script_arguments
from benchmarks.machine import heading
from holdfast import HoldfastError, check

WARM = Path(__file__).parent / "good" / "sft_lora.py"


def laid_out(rows: Path, clones: Path, root: Path) -> Iterator[Path]:
    """Write each script of users with what lies around it, and yield its path."""
    ours = sorted((row for row in load_rows(rows) if row["kind"] == "script"), key=itemgetter("repo", "commit"))
    for number, ((repo, commit), several) in enumerate(groupby(ours, key=itemgetter("repo", "commit"))):
        clone = Clone(clones / repo.replace("/", "+") / "repo")
        scripts = {PurePosixPath(row["path"]) for row in several}
        lay_out(clone.contents(commit, sorted(scripts | around(clone.paths(commit), scripts))), root / str(number))
        yield from (path for each in sorted(scripts) if (path := root / str(number) / each).is_file())


def milliseconds(path: Path) -> float:
    """Check a script; return the processor time that this took."""
    begun = time.process_time()
    with suppress(HoldfastError, ExceptionGroup):  # one that cannot be read takes its time too
        check(str(path), offline=True, cache=False, edits=False)
    return 1000 * (time.process_time() - begun)


def main() -> None:
    """Measure each script once, and print mean and median."""
    told = script_arguments(__doc__).parse_args()
    sys.setrecursionlimit(RECURSION)
    print(heading("check of public scripts, milliseconds of processor time"))
    with TemporaryDirectory() as folder:
        paths = list(laid_out(told.scripts, told.clones, Path(folder)))
        milliseconds(WARM)
        figures = [milliseconds(path) for path in paths]
    print(f"{len(figures)} scripts: mean {mean(figures):.1f}, median {median(figures):.1f}, most {max(figures):.0f}")


if __name__ == "__main__":
    main()
