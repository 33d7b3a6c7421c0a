"""How many faults the tests of the core notice: mutmut makes each small fault in turn, and runs the tests of its module.

    .venv/bin/python -m benchmarks.mutation             # all parts of mutation.toml
    .venv/bin/python -m benchmarks.mutation judging     # one of them; the mutants that survive are printed

Each part is mutated in a folder of its own under `build/mutation/`; the sources stay as they are.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import heading

ROOT: Final = Path(__file__).parent.parent
CONFIGURATION: Final = Path(__file__).with_suffix(".toml")
FOLDER: Final = ROOT / "build" / "mutation"
LINKED: Final = ("src", "tests", "benchmarks", "examples", "tools", "docs", "README.md")
KILLED: Final = (1, 3, 24, 36, 152, 255, -24)
"""Exit codes of mutmut's workers by which a test failed or took far too long; all others leave the mutant alive.

Source: `status_by_exit_code` of mutmut 3.8's `stats.py`.
"""
UNMARKED: Final = "not train and not long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Modules that are mutated together.

    Attributes:
        modules: Their paths in the package.
        tests: Names of the test files that are to notice.
        slow: Tests of these files that are left out, since each mutant would wait for them.
        sample: Patterns of names of mutants that `make check-all` tries.
    """

    name: str
    modules: Sequence[str]
    tests: Sequence[str]
    slow: Sequence[str] = ()
    sample: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that was made.

    Attributes:
        module: Path in the package.
        name: mutmut's name for it.
        was: The line before, without its indentation; several are joined by blanks.
        now: The line with the fault.
    """

    module: str
    name: str
    was: str
    now: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by: its name changes with the code above it."""
        return self.module, self.was, self.now

    def __str__(self) -> str:
        return f"{self.name}\n  - {self.was}\n  + {self.now}"


@dataclass(slots=True)
class Score:
    """What became of a module's mutants."""

    killed: int = 0
    survived: list[Mutant] = field(default_factory=list[Mutant])
    equivalent: list[Mutant] = field(default_factory=list[Mutant])


def configuration() -> dict[str, Any]:
    """Return the configuration, `mutation.toml`."""
    return tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))


def parts() -> list[Part]:
    """Return the parts of the core."""
    return [Part(**part) for part in configuration()["part"]]


def equivalents() -> set[tuple[str, str, str]]:
    """Return the mutants that do the same as what they were made of."""
    return {(each["module"], each["was"], each["now"]) for each in configuration().get("equivalent", ())}


def mutate(part: Part, folder: Path, names: Sequence[str] = ()) -> dict[str, Score]:
    """Run mutmut on a part; return the scores by module.

    Args:
        part: The part.
        folder: Where to do it; what lies there already is deleted.
        names: Patterns of the mutants to try; all of them where there is none.

    Raises:
        SystemExit: The tests fail without any mutant.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    (folder / "pyproject.toml").write_text(_project(part), encoding="utf-8")
    words = [str(Path(sys.executable).with_name("mutmut")), "run", *names]
    tried = subprocess.run(words, cwd=folder, env=_environment(), check=False, capture_output=True, text=True)
    if tried.returncode:
        raise SystemExit(f"mutmut could not mutate {part.name}:\n{(tried.stdout + tried.stderr)[-3000:]}")
    return _scores(folder, part)


def located(test: str) -> str:
    """Return a test, or a file of tests, with its path: wherever it lies under `tests/`.

    Raises:
        FileNotFoundError: There is no such file.
    """
    name, *inside = test.split("::")
    path = next((ROOT / "tests").rglob(name), None)
    if path is None:
        raise FileNotFoundError(f"no {name} under tests/; benchmarks/mutation.toml names it")
    return "::".join((path.relative_to(ROOT).as_posix(), *inside))


def _environment() -> Mapping[str, str]:
    # A worker that cannot write bytecode would compile its tests anew for each mutant.
    return {**os.environ, "HYPOTHESIS_PROFILE": "mutation", "PYTHONDONTWRITEBYTECODE": ""}


def _project(part: Part) -> str:
    """Return the project's settings with those of mutmut."""
    deselected = [word for test in part.slow for word in ("--deselect", located(test))]
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/holdfast/{module}" for module in part.modules],
        "also_copy": [name for name in LINKED if name not in ("src", "tests")],
        "pytest_add_cli_args_test_selection": [located(test) for test in part.tests],
        "pytest_add_cli_args": ["-m", UNMARKED, "-p", "no:cacheprovider", *deselected],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    return "\n".join([(ROOT / "pyproject.toml").read_text(encoding="utf-8"), "[tool.mutmut]", *lines, ""])


def _scores(folder: Path, part: Part) -> dict[str, Score]:
    scores, same = {module: Score() for module in part.modules}, equivalents()
    for module, score in scores.items():
        for name, exit_code in _exit_codes(folder, module).items():
            if exit_code in KILLED:
                score.killed += 1
            elif exit_code is not None:
                mutant = _mutant(folder, module, name)
                (score.equivalent if mutant.key in same else score.survived).append(mutant)
    return scores


def _exit_codes(folder: Path, module: str) -> Mapping[str, int | None]:
    """Return the result of each mutant of a module; None of one that was not tried."""
    meta = folder / "mutants" / "src" / "holdfast" / f"{module}.meta"
    return dict(json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"])


def _mutant(folder: Path, module: str, name: str) -> Mutant:
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    with chdir(folder):
        shown = get_diff_for_mutant(name, path=f"src/holdfast/{module}")
    return Mutant(module, name, _changed(shown, "-"), _changed(shown, "+"))


def _changed(diff: str, sign: str) -> str:
    lines = (line for line in diff.splitlines() if line.startswith(sign) and not line.startswith(sign * 3))
    return " ".join(line[1:].strip() for line in lines)


def table(scores: Mapping[str, Score]) -> Iterator[str]:
    """Yield the lines of a table of modules."""
    yield f"{'module':44} {'mutants':>8} {'killed':>7} {'survived':>9} {'equivalent':>11}"
    for module, score in scores.items():
        count = score.killed + len(score.survived) + len(score.equivalent)
        yield f"{module:44} {count:8} {score.killed:7} {len(score.survived):9} {len(score.equivalent):11}"


def main() -> None:
    """Mutate, and print what survived."""
    wanted = sys.argv[1:]
    scores: dict[str, Score] = {}
    for part in parts():
        if part.name in wanted or not wanted:
            print(f"mutating {part.name}", flush=True)
            scores |= mutate(part, FOLDER / part.name)
    for score in scores.values():
        for mutant in score.survived:
            print(mutant)
    print(heading("mutants of the core"), *table(scores), sep="\n")


if __name__ == "__main__":
    main()
