"""How many scripts of others that would fail today are free of errors once their fixes are made.

    .venv/bin/python -m benchmarks.check_fixes SCRIPTS.jsonl CLONES

As for `check_scripts`; each file is checked alone, against the versions installed here, without the network. Those that import a
library which patches TRL are left out. What is written is compiled, too: a fix never breaks a program that was one.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.check.asking import patched, read
from benchmarks.check.clones import Clone
from benchmarks.check_scripts import RECURSION, Row, load_rows, script_arguments
from benchmarks.machine import heading
from holdfast import check


def lay(rows: Iterable[Row], clones: Path, folder: Path) -> None:
    """Write each script alone into a folder."""
    for number, row in enumerate(rows):
        clone, path = Clone(clones / row["repo"].replace("/", "+") / "repo"), PurePosixPath(row["path"])
        written = folder / f"{number:03d}_{path.name}"
        for held in clone.contents(row["commit"], [path]).values():
            written.write_bytes(held)
            target = read(written)
            if target is None or patched(target):
                written.unlink()


def failing(told: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return the codes of the errors in each file that has any."""
    found = {
        target["path"]: Counter(each["code"] for each in target["findings"] if each["severity"] == "error")
        for target in told["targets"]
    }
    return {path: codes for path, codes in found.items() if codes}


def broken(folder: Path) -> set[str]:
    """Return the scripts that are no valid Python."""
    found = set[str]()
    for path in folder.glob("*.py"):
        try:
            ast.parse(path.read_bytes())
        except SyntaxError:
            found.add(path.name)
    return found


def main() -> None:
    """Measure."""
    options = script_arguments(__doc__).parse_args()
    sys.setrecursionlimit(RECURSION)
    print(heading("scripts of others, fixed"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        lay(load_rows(options.scripts), options.clones, folder)
        invalid = broken(folder)
        left: dict[str, Counter[str]] = {}
        for what in ("as they are", "--fix", "--unsafe-fixes"):
            safe, unsafe = what == "--fix", what == "--unsafe-fixes"
            told = check([name], offline=True, cache=False, fix=safe, unsafe_fixes=unsafe)
            left = failing(told)
            errors = sum(map(Counter.total, left.values()))
            print(f"{what}: {len(left)} of {len(told['targets'])} files have errors, {errors} in all")
        print("broken by fixes:", ", ".join(sorted(broken(folder) - invalid)) or "none")
        print("what is left:", dict(sum(left.values(), Counter[str]()).most_common(12)))


if __name__ == "__main__":
    main()
